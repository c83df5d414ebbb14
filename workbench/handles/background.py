"""Starts a compilation in a worker process and brings its result back into this one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from workbench.artifacts.archive.file_kinds import open_any
from workbench.compiler.contract.callables import Callee, resolve
from workbench.compiler.contract.guard_sandbox import Example
from workbench.compiler.contract.request import CompileOptions
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.pipeline.pipeline import bind
from workbench.errors import WorkbenchError
from workbench.handles.compiled import Compiled
from workbench.handles.job import START, Job
from workbench.handles.load import load_compiled
from workbench.handles.recipe import Recipe
from workbench.handles.worker import RESULT
from workbench.processes.background_task import Steps
from workbench.processes.caller_context import CallerContext
from workbench.processes.child import Child
from workbench.processes.shipping import pack


def compile_in_background(
    target: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    options: CompileOptions,
    recipe: Recipe,
    on_change: Callable[[], object] | None = None,
) -> Job[Compiled]:
    """Start a worker that compiles for this machine, and return at once.

    The result is called on the live module: its weights are copied for the worker only. Raises
    `UsageError` for a request that cannot be, naming what cannot be sent to another process.
    """
    callee = resolve(target)
    bound = bind(callee, args, dict(kwargs))
    receiver = next(iter(bound)) if callee.receiver else None
    example = Example(bound, receiver)
    parcel = {
        "function": target,
        "args": args,
        "kwargs": dict(kwargs),
        "options": options,
        "state": TorchState.current(),
    }
    context, folder = CallerContext.current(), pack(parcel, callee.name)
    try:
        child = Child("workbench.handles.worker", temporary=(os.fspath(folder),))
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

    return Job(callee.name, work, child.kill, on_change)


def _compiled_by(child: Child, order: object, steps: Steps, name: str) -> str:
    """The digest of the worker's artifact; raises what the compilation raised."""
    steps(START, 0.0)

    def ready(_: object) -> None:
        steps.end(START, 0.0)

    try:
        return str(child.ask(order, steps, hear=ready))
    except EOFError as error:
        raise WorkbenchError(
            f"The worker that compiled {name} {child.how_it_ended()}. Compile it here with "
            f"aot_compile to see why. It wrote:\n{child.last_words() or '(nothing)'}"
        ) from error


def _loaded(path: str, digest: str, callee: Callee, example: Example, recipe: Recipe) -> Compiled:
    """The worker's artifact, called on the objects of this process."""
    owner = callee.receiver[0] if callee.receiver else None
    scope = callee.function.__globals__
    outside = _live_objects(path, callee)
    loaded = load_compiled(path, module=owner, external_data=outside, f_globals=scope, trust=digest)
    callee.share_closure(loaded.aot_fn)
    plan, report = loaded.plan, loaded.report
    return Compiled(
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
            f"{callee.name} reaches {', '.join(lost)} in a way that its result cannot be given the "
            "live object again. Compile it here with aot_compile."
        )
    return {name: known[name] for name in names}
