"""Compilations in worker processes: started, ended, their results brought back into this one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from workbench.artifacts.archive.file_kinds import open_any
from workbench.compiler.call_plan.guard_sandbox import Example
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.compiler.request.callables import BoundCall, Callee, resolve
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler, pack_job
from workbench.errors import WorkbenchError
from workbench.handles.base.compiled_base import Recipe
from workbench.handles.compiled import Compiled
from workbench.handles.compiled_module import make_compiled, wrap_compiled
from workbench.handles.cross_compiled import CrossCompiled
from workbench.handles.loading.load import load_compiled
from workbench.handles.saving.save import save_compiled
from workbench.processes.child import Child
from workbench.processes.parent import Failed, Parent, Ready
from workbench.processes.shipping.caller_context import CallerContext
from workbench.processes.shipping.shipped_values import pack, unpacked
from workbench.specs import Gpu
from workbench.tasks.background_task import Job, Steps

START = "starting a worker"
RESULT = "result.aot"


def compile_in_background(
    request: CompileRequest, call: BoundCall, recipe: Recipe
) -> Job[Compiled]:
    """Start a worker that compiles for this machine, and return immediately.

    The result runs on the live module. Weights are copied only for the worker. Raises `UsageError`
    if the request is invalid. If an object cannot be sent to another process, the error names it.
    """
    callee, example = call.callee, Example(call.bound, call.receiver)
    parcel = {**vars(request), "state": TorchState.current()}
    context, folder = CallerContext.current(), pack(parcel, callee.name)
    try:
        child = Child("workbench.handles.compiling.background", temporary=(os.fspath(folder),))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise

    def work(steps: Steps) -> Compiled:
        try:
            digest = _compiled_by(child, (os.fspath(folder), context), steps, callee.name)
            return _loaded(os.fspath(folder / RESULT), digest, callee, example, recipe)
        finally:
            child.end()
            shutil.rmtree(folder, ignore_errors=True)

    return Job(callee.name, work, lambda thread: child.kill())


def _compiled_by(child: Child, order: object, steps: Steps, name: str) -> str:
    """The digest of the worker's artifact; raises what the compilation raised."""
    steps(START, 0.0)
    try:
        return str(child.ask(order, steps, hear=lambda _: steps.end(START, 0.0)))
    except EOFError as error:
        raise WorkbenchError(
            f"The worker that compiled {name} {child.how_it_ended()}. Compile it here with "
            f"aot_compile to see why. Its output was:\n{child.last_words() or '(nothing)'}"
        ) from error


def _loaded(path: str, digest: str, callee: Callee, example: Example, recipe: Recipe) -> Compiled:
    """The worker's artifact, called on the objects of this process."""
    owner = callee.receiver[0] if callee.receiver else None
    scope = callee.function.__globals__
    outside = _live_objects(path, callee)
    loaded = load_compiled(path, module=owner, external_data=outside, f_globals=scope, trust=digest)
    callee.share_closure(loaded.aot_fn)
    plan, report = loaded.plan, loaded.report
    return wrap_compiled(
        loaded.aot_fn, plan, report, original=callee.entry, example=example, recipe=recipe
    )


def _live_objects(path: str, callee: Callee) -> dict[str, Any]:
    """The modules that the artifact leaves out, from the closure and the globals here."""
    with open_any(path) as opened:
        names = () if opened.manifest is None else opened.manifest.external_data
    known = {**callee.function.__globals__, **callee.closure}
    lost = [name for name in names if name not in known]
    if lost:
        raise WorkbenchError(
            f"{callee.name} reaches {', '.join(lost)} in a way that prevents the compiled result "
            "from using the live object. Compile it here with aot_compile."
        )
    return {name: known[name] for name in names}


def start_cross_compile(request: CompileRequest, gpu: Gpu, recipe: Recipe) -> Job[CrossCompiled]:
    """Start a worker that ends with the job, and return immediately."""
    sent = pack_job(request, gpu)  # as it is now, whatever changes later
    worker = CrossCompiler()
    worker.begin()

    def work(steps: Steps) -> CrossCompiled:
        try:
            steps(START, 0.0)
            worker.start()
            steps.end(START, 0.0)
            done = worker.compiled(sent, steps)
        finally:
            worker.close()
        return CrossCompiled(done.report, gpu, request.target, done.program, recipe)

    return Job(resolve(request.target).name, work, lambda thread: worker.retire())


def main(parent: Parent) -> None:
    """Run a worker that compiles the request in a folder and writes the artifact there."""
    place, context = parent.receive()
    folder = Path(place)
    try:
        with context.entered(), unpacked(folder) as parcel, parcel.pop("state").reproduced():
            parent.send(Ready())
            compiled = make_compiled(compile_ahead(CompileRequest(**parcel), parent))
            parent("saving", 0.0)
            digest = save_compiled(compiled, folder / RESULT, weights="later")
            parent.end("saving", 0.0)
        parent.done(digest)
    except WorkbenchError as error:
        parent.send(Failed.of(error))
