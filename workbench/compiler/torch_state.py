"""The state of torch that a compilation depends on, taken along to the worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler import torch_private as tp

_CONFIGS = {
    "dynamo": tp.DYNAMO_CONFIG,
    "inductor": tp.INDUCTOR_CONFIG,
    "functorch": tp.FUNCTORCH_CONFIG,
}
_AUTOCAST = ("cuda", "cpu")


@dataclass(frozen=True)
class TorchState:
    """Modes and options; `options` holds what differs from its default, by config module."""

    grad: bool
    dtype: torch.dtype
    matmul_precision: str
    deterministic: tuple[bool, bool]
    autocast: Mapping[str, tuple[bool, torch.dtype]]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def current(cls) -> TorchState:
        """The state of this thread."""
        return cls(
            grad=torch.is_grad_enabled(),
            dtype=torch.get_default_dtype(),
            matmul_precision=torch.get_float32_matmul_precision(),
            deterministic=_deterministic(),
            autocast={
                kind: (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))
                for kind in _AUTOCAST
            },
            options={name: _changed(row) for name, row in _CONFIGS.items()},
        )

    @contextmanager
    def applied(self, keep: frozenset[str]) -> Iterator[None]:
        """Work under this state; options of Inductor named in `keep` stay as they are here."""
        with ExitStack() as stack:
            stack.callback(torch.set_default_dtype, torch.get_default_dtype())
            torch.set_default_dtype(self.dtype)
            precision = torch.get_float32_matmul_precision()
            stack.callback(torch.set_float32_matmul_precision, precision)
            torch.set_float32_matmul_precision(self.matmul_precision)
            stack.callback(_determine, *_deterministic())
            _determine(*self.deterministic)
            stack.enter_context(torch.set_grad_enabled(self.grad))
            for kind, (enabled, dtype) in self.autocast.items():
                if enabled:
                    stack.enter_context(torch.autocast(kind, dtype))
            for name, values in self.options.items():
                known = {key: value for key, value in values.items() if key not in keep}
                if known:
                    stack.enter_context(_CONFIGS[name].get().patch(known))
            yield


def _deterministic() -> tuple[bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


def _determine(enabled: bool, warn_only: bool) -> None:
    torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


def _changed(row: tp.Name) -> dict[str, Any]:
    """Options that the user changed; a module that was not imported has none."""
    if row.module not in sys.modules:
        return {}
    config = row.get()
    return {
        name: value for name, value in config.get_config_copy().items() if _is_set(config, name)
    }


def _is_set(config: Any, name: str) -> bool:
    is_default = getattr(config, "_is_default", None)
    return is_default is not None and not is_default(name)
