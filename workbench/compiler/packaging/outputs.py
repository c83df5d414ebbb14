"""What goes into a library and comes out of it besides tensors, refused where it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from workbench.artifacts.manifest.package_manifest import PackagedOutput
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.packaging.contracts import input_values
from workbench.compiler.packaging.exporting import Exportable
from workbench.compiler.packaging.symbols import Names
from workbench.errors import CaptureError

_SYMBOLIC = {torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool"}
_CONSTANT = (int, bool, type(None))


def check_inputs(found: Exportable, program: Any) -> None:
    """Raise `CaptureError` for a Python number that was declared dynamic."""
    for (path, value), made in zip(found.inputs.leaves, input_values(program), strict=True):
        if type(made) in _SYMBOLIC:
            raise CaptureError(
                f"{found.title} cannot be packaged: {path} is a Python {type(value).__name__} that "
                "dynamic_shapes declares dynamic, and a library takes tensors only. Pass it as a "
                f"tensor, or leave {path} out of dynamic_shapes to compile for {value!r}."
            )


def outputs_of(program: Any, names: Names | None = None) -> tuple[PackagedOutput, ...]:
    """The handles that the library returns, one for each leaf of the outputs.

    Symbolic sizes have the names of the dimensions, where they are given.

    Raises `CaptureError` for a leaf that a library cannot return, such as a text.
    """
    paths = _paths(program)
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    kind = tp.OUTPUT_KIND.get().USER_OUTPUT
    specs = [spec for spec in program.graph_signature.output_specs if spec.kind == kind]
    named = names or Names({})
    return tuple(
        _output(spec.arg, values, path, named) for spec, path in zip(specs, paths, strict=True)
    )


def _paths(program: Any) -> Iterator[str]:
    spec = program.call_spec.out_spec
    tree = tp.TREE_UNFLATTEN.get()(list(range(spec.num_leaves)), spec)
    leaves, _ = tp.TREE_FLATTEN_WITH_PATH.get()(tree)
    for keys, _ in leaves:
        yield "the output" + "".join(map(str, keys))


def _output(argument: Any, values: dict[str, Any], path: str, names: Names) -> PackagedOutput:
    value = argument.value if hasattr(argument, "value") else values.get(argument.name)
    if isinstance(value, torch.Tensor):
        shape = tuple(n if isinstance(n, int) else names.shown(str(n)) for n in value.shape)
        return PackagedOutput(str(value.dtype).removeprefix("torch."), shape)
    if type(value) in _SYMBOLIC:
        return PackagedOutput("", (), _SYMBOLIC[type(value)])
    if type(value) not in _CONSTANT:
        raise CaptureError(
            f"{path} is the {type(value).__name__} {value!r:.60}: a library returns tensors, whole "
            "numbers and None. Return it from the code that calls the package."
        )
    return PackagedOutput("", (), type(value).__name__)
