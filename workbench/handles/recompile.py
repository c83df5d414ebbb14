"""What a file was made from, compiled again on this torch."""

from __future__ import annotations

import ast
import inspect
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import torch

from workbench.artifacts.archive.container import read_artifact
from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.archive.regular_file import open_file
from workbench.compiler.contract.contract import Contract
from workbench.compiler.contract.examples import dynamic_shapes_of, inputs_of
from workbench.compiler.contract.request import CompileOptions
from workbench.compiler.contract.specialized_values import resolve
from workbench.compiler.packaging.request import repackage_command
from workbench.errors import ArtifactError, UsageError
from workbench.handles.compiled import Compiled
from workbench.handles.dispatch import compile_for_target

if TYPE_CHECKING:
    from workbench.handles.cross_compiled import CrossCompiled


def recompile(path: str | PathLike[str], module: Any | None = None) -> Compiled | CrossCompiled:
    """Compile again, on this torch, what a file was made from; nothing from it is executed.

    What was compiled for a GPU that was not there is compiled for it again.

    Raises `ArtifactError` when the original has no importable name and no module is given, and
    `UsageError` for a package, with the call that makes it again.
    """
    with open_any(path) as opened:
        if opened.package is not None:
            raise UsageError(repackage_command(fspath(path), opened.package))
    with open_file(path) as file:
        stored = read_artifact(file).manifest.contract
    target = module
    if target is None:
        if stored["receiver"] is not None or stored["reference"] is None:
            raise ArtifactError(
                f"{stored['name']} cannot be imported by name. Pass it: recompile(path, "
                "module=the module or function)."
            )
        target = resolve(stored["reference"])
    contract = Contract.from_json(stored["inputs"])
    request = {**stored["request"]}
    request["options"] = {n: ast.literal_eval(v) for n, v in request["options"]}
    options = CompileOptions(**request, dynamic_shapes=dynamic_shapes_of(contract))
    inputs = inputs_of(contract, "meta" if options.gpu else None)
    args, kwargs = _as_call(target, inputs)
    return compile_for_target(target, args, kwargs, options)


def _as_call(target: Any, inputs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Inputs by parameter name as positional and keyword arguments."""
    function = target.forward if isinstance(target, torch.nn.Module) else target
    parameters = inspect.signature(function).parameters
    stars = [n for n, p in parameters.items() if p.kind is inspect.Parameter.VAR_POSITIONAL]
    extra = [n for n, p in parameters.items() if p.kind is inspect.Parameter.VAR_KEYWORD]
    args = [v for name in stars for v in inputs.pop(name, [])]
    spread = {k: v for name in extra for k, v in inputs.pop(name, {}).items()}
    if args:
        named = [n for n in parameters if n in inputs and parameters[n].kind.value <= 1]
        args = [*[inputs.pop(name) for name in named], *args]
    return tuple(args), {**inputs, **spread}
