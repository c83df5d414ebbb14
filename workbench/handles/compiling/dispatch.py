"""Compiles for what is asked: a device of this machine, virtual GPUs, a file again."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch

from workbench.arguments import shown
from workbench.artifacts.archive.aot_container import read_artifact
from workbench.artifacts.archive.file_kinds import open_any, open_file
from workbench.compiler.call_state.reachable import list_tensors
from workbench.compiler.captured_code.specialized_values import resolve
from workbench.compiler.contract.contract import Contract
from workbench.compiler.contract.examples import inputs_of, replace_fakes, write_dynamic_shapes
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.signatures import signature_of
from workbench.compiler.packaging.package_request import write_repackage_command
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.compiler.process_groups.cluster import refuse_shards
from workbench.compiler.request.callables import BoundCall
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest, FusionChoice
from workbench.device_kinds import is_gpu
from workbench.errors import ArtifactError, RefusedCall, UsageError
from workbench.handles.base.compiled_base import CompiledBase, Recipe
from workbench.handles.chosen_fusion import compile_again, refuse_for_other_torch
from workbench.handles.compiled import Compiled
from workbench.handles.compiled_module import make_compiled, unwrap_originals
from workbench.report import Report
from workbench.specs import Gpu
from workbench.tasks.progress_events import ProgressCallback
from workbench.worlds.world import World, ask, list_worlds

if TYPE_CHECKING:
    from workbench.analysis.gpu_model.matrix import Matrix
    from workbench.compiler.virtual_gpu.client import CrossCompiler
    from workbench.handles.cross_compiled import CrossCompiled
    from workbench.tasks.background_task import Job


def compile_for_target(
    request: CompileRequest, progress: ProgressCallback | None = None
) -> Compiled | CrossCompiled:
    """Compile for the request's target, or raise `UsageError` or `CaptureError`."""
    request = _with_original(request)
    if progress is not None and not callable(progress):
        raise UsageError(
            f"progress is {progress!r}: expected a function that takes the name of a phase and "
            "the seconds."
        )
    hooks, repeated = _find_hooks(request), request
    if hooks is not None:
        repeated, request = hooks.choose_repeated(request), hooks.request
    gpu = request.options.gpu
    made: Compiled | CrossCompiled
    with _refusals_tried(request):
        if gpu is not None:
            from workbench.handles.cross_compiled import compile_for_gpu

            _require_traceable(request)
            made = compile_for_gpu(request, gpu, progress=progress, recipe=build_recipe(repeated))
        else:
            if request.options.backend == "inductor" and _is_on_gpu(request):
                from workbench.handles.devices.local_gpu import compile_on_gpu

                code = compile_on_gpu(replace_fakes(request), progress)
            else:
                with tp.UNSET_FAKE.get()():  # a mode of fake tensors around it is not compiled
                    code = compile_ahead(replace_fakes(request), progress)
            made = make_compiled(code, build_recipe(repeated))
    if hooks is not None:
        made.update(hooks.add_rows(made.report, gpu))
    return made


@runtime_checkable
class ModuleHooks(Protocol):
    """Describe the call hooks of a module."""

    @property
    def request(self) -> CompileRequest:
        """The request to compile instead of the module's own."""

    def choose_repeated(self, request: CompileRequest) -> CompileRequest:
        """Return the request to use for another target: this one or the given one."""

    def add_rows(self, report: Report, gpu: Gpu | None) -> Report:
        """Return the report with the hooks' communication added."""


def _find_hooks(request: CompileRequest) -> ModuleHooks | None:
    """The hooks around the module of a request; without a process group no world is asked."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return None
    for world in list_worlds():
        hooks = ask(world, lambda w: _read_hooks(w, request), None, "what hooks send")
        if hooks is not None:
            return hooks
    return None


def _read_hooks(world: World, request: CompileRequest) -> ModuleHooks | None:
    """Those that a world reads; raises `TypeError` for what cannot be asked as `ModuleHooks`."""
    hooks = world.read_hooks(request)
    if hooks is None or isinstance(hooks, ModuleHooks):
        return hooks
    raise TypeError(f"read_hooks returned a value of type {type(hooks).__name__}")


@contextmanager
def _refusals_tried(request: CompileRequest) -> Iterator[None]:
    """Run a call that torch refused once without the compiler, for the error to say which fails."""
    try:
        yield
    except RefusedCall as refused:
        from workbench.handles.rehearsing.refused_call import try_without_compiler

        raise try_without_compiler(request, refused) from refused.__cause__


def compile_in_background(request: CompileRequest) -> Job[Compiled] | Job[CrossCompiled]:
    """Start the compilation in a separate process and return immediately.

    Raises `UsageError` if the request is invalid. If an object cannot be sent to another process,
    the error names it.
    """
    from workbench.handles.compiling import background

    request = _with_original(request)
    call, recipe = _require_traceable(request), build_recipe(request)
    refuse_shards(call.callee.name, call.callee.module)  # what is around them cannot be sent
    if request.options.gpu is not None:
        return background.start_cross_compile(request, request.options.gpu, recipe)
    return background.compile_in_background(request, call, recipe)


def _with_original(request: CompileRequest) -> CompileRequest:
    """The request for what was compiled before, where it is for a compiled function; with notes."""
    target, notes = unwrap_originals(request.target)
    known = request.options.notes
    notes = (*known, *(note for note in notes if note not in known))
    return replace(request, target=target, options=replace(request.options, notes=notes))


def _require_traceable(request: CompileRequest) -> BoundCall:
    """Raise `UsageError` here for what a process of its own could only refuse later."""
    return BoundCall.of(request.target, request.args, request.kwargs)


def build_recipe(request: CompileRequest) -> Recipe:
    """Return a recipe to compile the same call for other targets."""
    return Recipe(request, compile_for_target, compile_in_background)


def _is_on_gpu(request: CompileRequest) -> bool:
    reached = list_tensors(request.inputs, request.target)
    return any(is_gpu(tensor.device) for tensor in reached)


def recompile(path: str | PathLike[str], module: Any | None = None) -> Compiled | CrossCompiled:
    """Recompile the source of a file with this torch, without executing anything from the file.

    A compilation for a virtual GPU is repeated for that GPU. Raises `ArtifactError` if the original
    has no importable name and no module is given. Raises `UsageError` for a package, with the call
    that recreates it, and for a fusion choice made with another torch release.
    """
    if module is not None and not callable(module):
        raise UsageError(
            f"module is {shown(module)}: expected the module or function that was compiled."
        )
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
                f"{stored['name']} cannot be imported by name. Pass it: recompile(path, module=the "
                "module or function)."
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
    made = compile_for_target(CompileRequest(target, *_as_call(target, inputs), options))
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
    """Compile every Triton kernel of `x` for several GPUs (see `workbench.matrix`)."""
    from workbench.handles.kernels.compare_targets import compare, find_target_gpus

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
            f"A {type(x).__name__} has no kernels. Pass a result of aot_compile, a report, or a "
            "function and its example inputs."
        )
    if args is None:
        raise UsageError(
            "A function has no kernels before it is compiled. Pass its example inputs too: "
            "wb.matrix(fn, (x,), targets=[…])."
        )
    request = CompileRequest.of(x, args, None, CompileOptions(target=first))
    return compile_for_target(request, progress).report, True
