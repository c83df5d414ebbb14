"""What `%aot_compile -p` asks of `workbench.package`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from workbench.errors import UsageError

_OTHERS = (
    ("save", "-s writes an .aot file and -p a package: write one of them"),
    ("annotate", "-a shows a cell without a package: leave it or -p out"),
    ("guards", "-g is for .aot files: a package has a contract instead, leave -g out"),
)
_TARGETS = ("host", "cpu", "cuda")


def packaging_options(chosen: Namespace, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `workbench.package`; raises `UsageError` for what it cannot."""
    for name, words in _OTHERS:
        if getattr(chosen, name):
            raise UsageError(f"{words}.")
    if wanted["backend"] != "inductor":
        raise UsageError("-p compiles with AOTInductor: leave -b out.")
    if wanted["target"] not in _TARGETS:
        raise UsageError(
            f"-p compiles for a device of this machine, not for {wanted['target']}: leave -t out."
        )
    return {name: wanted[name] for name in ("mode", "options", "dynamic_shapes")}
