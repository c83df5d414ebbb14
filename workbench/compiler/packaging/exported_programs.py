"""A `torch.export.ExportedProgram` as the model of a package: it was captured already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.export import ExportedProgram

from workbench.compiler.internals import torch_private as tp
from workbench.errors import UsageError

EXPORTED = (
    "packaged from an exported program, which is all that is known: what its export froze "
    "(attributes, values read from outside) is part of it"
)


def title_of(program: ExportedProgram) -> str:
    """The class of the module that was exported, as far as the program tells it."""
    for node in program.graph.nodes:
        for _, kind in (node.meta.get("nn_module_stack") or {}).values():
            name = kind if isinstance(kind, str) else kind.__qualname__
            return name.rpartition(".")[2]
    return "ExportedProgram"


def choose_example(model: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The example inputs: those that are given, else the program's own.

    Raises `UsageError` where there are none.
    """
    if args is not None:
        return args, kwargs
    if not isinstance(model, ExportedProgram):
        raise UsageError(
            "args is missing: give a tuple of example inputs, such as (x,). Only an exported "
            "program brings its own."
        )
    if kwargs or model.example_inputs is None:
        why = "only kwargs are given" if kwargs else "the exported program holds none"
        raise UsageError(f"args is missing ({why}): give all example inputs, such as (x,).")
    positional, named = model.example_inputs
    return tuple(positional), dict(named)


def check_nesting(
    program: ExportedProgram, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The named inputs in the program's order; raises `UsageError` for inputs of another form."""
    wanted = program.call_spec.in_spec
    names = list(wanted.children()[1].context)
    ordered = {name: kwargs[name] for name in names} if kwargs.keys() == {*names} else kwargs
    _, given = tp.TREE_FLATTEN.get()((args, dict(ordered)))
    if given != wanted:
        raise UsageError(
            "The example inputs are nested in another way than those that the program was "
            f"exported with:\n  program: {_text(wanted)}\n  given:   {_text(given)}\nGive them by "
            "position and by name as in its export, or leave args out to take the program's own."
        )
    return dict(ordered)


def _text(spec: Any) -> str:
    return " ".join(str(spec).split())
