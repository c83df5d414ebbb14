"""Compiles for what is asked: a device of this machine, virtual GPUs, a file again."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import torch

from workbench.artifacts.archive.aot_container import read_artifact
from workbench.artifacts.archive.file_kinds import open_any, open_file
from workbench.compiler.contract import callables
from workbench.compiler.contract.compile_request import CompileOptions, check_args
from workbench.compiler.contract.contract import Contract
from workbench.compiler.contract.examples import inputs_of, replace_fakes, write_dynamic_shapes
from workbench.compiler.contract.fusion_choice import FusionChoice
from workbench.compiler.contract.specialized_values import resolve
from workbench.compiler.contract.unsupported import check_inputs
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.signatures import signature_of
from workbench.compiler.packaging.package_request import write_repackage_command
from workbench.compiler.pipeline.pipeline import bind, compile_ahead
from workbench.device_kinds import is_gpu
from workbench.errors import ArtifactError, UsageError
from workbench.handles.chosen_fusion import compile_again, refuse_for_other_torch
from workbench.handles.compiled import Compiled
from workbench.handles.compiled_base import CompiledBase, Recipe
from workbench.handles.compiled_module import make_compiled, unwrap_originals
from workbench.report import Report
from workbench.tasks.progress import ProgressCallback

if TYPE_CHECKING:
    from workbench.analysis.gpu_model.matrix import Matrix
    from workbench.compiler.virtual_gpu.client import CrossCompiler
    from workbench.handles.background import Job
    from workbench.handles.cross_compiled import CrossCompiled


def compile_for_target(
    target: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    options: CompileOptions,
    progress: ProgressCallback | None = None,
) -> Compiled | CrossCompiled:
    """Compile for the request's target; raises `UsageError` and `CaptureError` as both ways do."""
    check_args(args, kwargs)
    target, options = _with_originals(target, options)
    if progress is not None and not callable(progress):
        raise UsageError(
            f"progress is {progress!r}: expected a function of the name of a phase and the seconds."
        )
    if options.gpu is None:
        return _compiled_here(target, (tuple(args), dict(kwargs or {})), options, progress)
    _check_call(target, args, kwargs)
    from workbench.handles.cross_compiled import compile_for_gpu

    call, recipe = (target, tuple(args), kwargs or {}), build_recipe(target, args, kwargs, options)
    return compile_for_gpu(*call, options, options.gpu, progress=progress, recipe=recipe)


def _compiled_here(
    target: Any,
    given: tuple[tuple[Any, ...], dict[str, Any]],
    options: CompileOptions,
    progress: ProgressCallback | None,
) -> Compiled:
    if options.backend == "inductor" and _is_on_gpu(target, *given):
        from workbench.handles.local_gpu import compile_on_gpu

        args, kwargs = replace_fakes(given)
        code = compile_on_gpu(target, args, kwargs, options, progress)
    else:
        with tp.UNSET_FAKE.get()():  # a mode of fake tensors around the call is not compiled
            args, kwargs = replace_fakes(given)
            code = compile_ahead(target, args, kwargs, options, progress)
    return make_compiled(code, build_recipe(target, args, kwargs, options))


def compile_in_background(
    target: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    options: CompileOptions,
) -> Job[Compiled] | Job[CrossCompiled]:
    """Start the compilation in a process of its own and return at once.

    Raises `UsageError` for a request that cannot be, naming what cannot be sent to another process.
    """
    from workbench.handles import background

    target, options = _with_originals(target, options)
    _check_call(target, args, kwargs)
    recipe = build_recipe(target, args, kwargs, options)
    call = target, tuple(args), dict(kwargs or {})
    if options.gpu is not None:
        return background.start_cross_compile(*call, options, recipe)
    return background.compile_in_background(*call, options, recipe)


def _with_originals(target: Any, options: CompileOptions) -> tuple[Any, CompileOptions]:
    target, notes = unwrap_originals(target)
    known = (*options.notes, *(note for note in notes if note not in options.notes))
    return target, replace(options, notes=known)


def _check_call(target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> None:
    """Raise `UsageError` here for what a process of its own could only refuse later."""
    check_args(args, kwargs)
    callee = callables.resolve(target)
    bound = bind(callee, tuple(args), dict(kwargs or {}))
    check_inputs(dict([*bound.items()][1:]) if callee.receiver else bound)


def build_recipe(
    target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None, options: CompileOptions
) -> Recipe:
    """The call, ready to be compiled for another target."""
    return Recipe(target, args, kwargs or {}, options, compile_for_target, compile_in_background)


def _is_on_gpu(target: Any, args: Any, kwargs: Mapping[str, Any]) -> bool:
    values = tp.TREE_LEAVES.get()((args, dict(kwargs)))
    if isinstance(target, torch.nn.Module):
        values = [*values, *target.parameters(), *target.buffers()]
    return any(isinstance(v, torch.Tensor) and is_gpu(v.device) for v in values)


def recompile(path: str | PathLike[str], module: Any | None = None) -> Compiled | CrossCompiled:
    """Compile again, on this torch, what a file was made from; nothing from it is executed.

    What was compiled for a GPU that was not there is compiled for it again.

    Raises `ArtifactError` when the original has no importable name and no module is given, and
    `UsageError` for a package, with the call that makes it again, and for a choice of fusion that
    was made with another torch.
    """
    with open_any(path) as opened:
        if opened.package is not None:
            raise UsageError(write_repackage_command(fspath(path), opened.package))
    with open_file(path) as file:
        manifest = read_artifact(file).manifest
    stored = manifest.contract
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
    rows = request.pop("fusion", None)
    choice = None if rows is None else FusionChoice.of_rows(rows)
    if choice is not None:
        refuse_for_other_torch(fspath(path), manifest.versions.torch)
    options = CompileOptions(
        **request, dynamic_shapes=write_dynamic_shapes(contract), fusion=choice
    )
    inputs = inputs_of(contract, "meta" if options.gpu else None)
    args, kwargs = _as_call(target, inputs)
    made = compile_for_target(target, args, kwargs, options)
    return made if choice is None else compile_again(made, choice)


def _as_call(target: Any, inputs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Inputs by parameter name as positional and keyword arguments."""
    function = target.forward if isinstance(target, torch.nn.Module) else target
    parameters = signature_of(function).parameters
    stars = [n for n, p in parameters.items() if p.kind is inspect.Parameter.VAR_POSITIONAL]
    extra = [n for n, p in parameters.items() if p.kind is inspect.Parameter.VAR_KEYWORD]
    args = [v for name in stars for v in inputs.pop(name, [])]
    spread = {k: v for name in extra for k, v in inputs.pop(name, {}).items()}
    if args:
        named = [n for n in parameters if n in inputs and parameters[n].kind.value <= 1]
        args = [*[inputs.pop(name) for name in named], *args]
    return tuple(args), {**inputs, **spread}


def matrix(
    x: Any,
    args: tuple[Any, ...] | None,
    targets: Sequence[str],
    *,
    configs: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
    worker: CrossCompiler | None = None,
) -> Matrix:
    """Compile every Triton kernel of `x` for several GPUs; see `workbench.matrix`."""
    from workbench.handles.compare_targets import compare, find_target_gpus

    report, is_ours = _recorded(x, args, find_target_gpus(targets)[0].name, progress)
    return compare(
        report, targets, is_ours=is_ours, configs=configs, progress=progress, worker=worker
    )


def _recorded(
    x: Any, args: tuple[Any, ...] | None, first: str, progress: ProgressCallback | None
) -> tuple[Report, bool]:
    """The record, and whether its sources were generated or vouched for in this process."""
    report = x if isinstance(x, Report) else getattr(x, "report", None)
    if isinstance(report, Report):  # what an inspection of a file has found is nobody's
        return report, isinstance(x, CompiledBase)
    if not callable(x):
        raise UsageError(
            f"A {type(x).__name__} has no kernels. Pass what aot_compile returned, a report, or a "
            "function and its example inputs."
        )
    if args is None:
        raise UsageError(
            "A function has no kernels before it is compiled: pass its example inputs, too, "
            "wb.matrix(fn, (x,), targets=[…])."
        )
    compiled = compile_for_target(x, args, {}, CompileOptions(target=first), progress)
    return compiled.report, True
