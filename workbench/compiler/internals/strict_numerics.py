"""Which words the option `numerics` of Inductor takes in the torch that runs."""

from __future__ import annotations

from typing import Any, get_args

from workbench.compiler.internals import torch_private as tp

_DEFAULT = "default"
_ALWAYS = ("strict",)
"""What each release takes that has the option, where its config does not list them."""


def list_strict_numerics(config: Any = None) -> tuple[str, ...]:
    """The words that make generated code round as eager does; none before torch 2.14.

    `config` stands for the options of Inductor.
    """
    options = tp.INDUCTOR_CONFIG.get() if config is None else config
    if not hasattr(options, "numerics"):
        return ()
    words = get_args(options.get_type("numerics"))
    return tuple(word for word in words if word != _DEFAULT) or _ALWAYS
