"""torch.export of one model, with the example inputs bound to names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.callables import resolve
from workbench.compiler.packaging.contracts import Declared
from workbench.compiler.packaging.inputs import CallInputs, read_inputs
from workbench.compiler.packaging.request import ModelRequest
from workbench.errors import UsageError


@dataclass(frozen=True)
class Exportable:
    """A model ready for torch.export: the module, its example call and its declared dimensions."""

    module: torch.nn.Module
    title: str
    inputs: CallInputs
    declared: Declared


def exportable(request: ModelRequest) -> Exportable:
    """Check a request against the model; raises `UsageError` for what cannot be."""
    module, title = _module(request.model)
    inputs = read_inputs(module.forward, tuple(request.args), request.kwargs, title)
    return Exportable(module, title, inputs, {})


def _module(model: Any) -> tuple[torch.nn.Module, str]:
    callee = resolve(model)
    if callee.kind == "module" and callee.module is not None:
        return callee.module, callee.name
    if callee.receiver:
        raise UsageError(
            f"{callee.name} is a {callee.kind}: torch.export takes a module or a plain function. "
            "Pass the module itself, or a function that calls it."
        )
    return _as_module(callee.entry, callee.name), callee.name


def _as_module(function: Any, name: str) -> torch.nn.Module:
    """A module whose forward is the function, under the same signature."""
    body: Mapping[str, Any] = {"forward": staticmethod(function)}
    kind = type(name.rpartition(".")[2].strip("<>") or "Function", (torch.nn.Module,), dict(body))
    module: torch.nn.Module = kind()
    return module.eval()


def export(found: Exportable, request: ModelRequest) -> Any:
    """The exported program."""
    return torch.export.export(
        found.module,
        tuple(request.args),
        dict(request.kwargs),
        dynamic_shapes=request.dynamic_shapes,
    )
