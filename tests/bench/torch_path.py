"""Torch's own way from a model to a loaded file, with the two cures that real models need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

Aliases = Mapping[str, str]
"""Generated names of modules in the compiled code: the import name of each."""


def serializable(entries: Sequence[Any]) -> list[bool]:
    """Torch's default guard filter, and no guard whose derived type cannot be serialised either."""
    from torch._dynamo.guards import CheckFunctionManager

    unsupported = set(CheckFunctionManager.UNSUPPORTED_SERIALIZATION_GUARD_TYPES)
    return [
        not (
            entry.is_global
            or entry.guard_type in unsupported
            or unsupported.intersection(entry.derived_guard_types)
        )
        for entry in entries
    ]


def compile_module(model: torch.nn.Module, inputs: Mapping[str, Any]) -> Any:
    """`aot_compile` of a module's forward; the result takes the module first."""
    compiled = torch.compile(model, fullgraph=True, options={"guard_filter_fn": serializable})
    return compiled.forward.aot_compile(((), dict(inputs)))


def compile_plainly(model: torch.nn.Module, inputs: Mapping[str, Any]) -> Any:
    """The same without any cure."""
    return torch.compile(model, fullgraph=True).forward.aot_compile(((), dict(inputs)))


def save(compiled: Any, path: Path) -> Aliases:
    """Write torch's file; the modules that the code refers to have to be handed back at load."""
    compiled.save_compiled_function(str(path))
    names = compiled._artifacts.runtime_env.external_refs
    scope = compiled.fn.__globals__
    return {n: scope[n].__name__ for n in names if isinstance(scope.get(n), ModuleType)}


def load(path: Path, aliases: Aliases) -> Callable[..., Any]:
    """Read torch's file in a process that may never have seen these modules."""
    import importlib

    scope = {name: importlib.import_module(module) for name, module in aliases.items()}
    with path.open("rb") as file:
        loaded: Callable[..., Any] = torch.compiler.load_compiled_function(
            file, f_globals={**vars(sys.modules["builtins"]), **scope}
        )
    return loaded
