"""The named steps of a compilation, in order; a failing step is recorded, then raised."""

from __future__ import annotations

import contextlib
import dis
import linecache
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from workbench.analysis.source.caught_errors import find_caught_errors
from workbench.compiler.aot_files.writing.saveable import prepare_serialization
from workbench.compiler.aot_files.writing.serialized import has_argument_writes
from workbench.compiler.call_plan.guard_sandbox import Example
from workbench.compiler.call_plan.live_guards import (
    LiveGuards,
    list_answer_rows,
    list_closure_rows,
    list_default_rows,
    list_dropped_guards,
)
from workbench.compiler.call_plan.plan import CallPlan
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.captured_code.inlined_code import Inlined
from workbench.compiler.captured_code.specialized_values import (
    SpecializedValues,
    find_globals_module,
    find_importable_name,
)
from workbench.compiler.captured_graphs.captured import CapturedGraph
from workbench.compiler.cold_start.compile_cache import partial_pch, start_fast
from workbench.compiler.cold_start.partial_pch import PartialPch
from workbench.compiler.contract.contract import Contract
from workbench.compiler.contract.shared_memory import SharedMemory
from workbench.compiler.guards.guard_policy import (
    Decisions,
    build_guard_filter,
    find_held_modules,
    is_plain,
)
from workbench.compiler.guards.inlined_places import ask_environment, find_inlined
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.cpython_costs import gc_throttle, large_stack_chunk
from workbench.compiler.internals.dynamo_state import patch_torch, restore_automatic_dynamic
from workbench.compiler.internals.failed_compilation import release_frames
from workbench.compiler.internals.local_device import has_gpu
from workbench.compiler.internals.older_releases import add_builtins_to_globals
from workbench.compiler.internals.patches import hold_messages
from workbench.compiler.internals.signatures import drop_bad_annotations
from workbench.compiler.internals.torch_state import GlobalState, read_tf32_uses
from workbench.compiler.measuring.call_memory import EagerCounter
from workbench.compiler.pipeline.captured_sizes import captured
from workbench.compiler.pipeline.failures import explain
from workbench.compiler.pipeline.fusion_constraints import choose_fusion
from workbench.compiler.pipeline.modes import check_freezing, merge_options
from workbench.compiler.pipeline.separate_blocks import keep_blocks_apart
from workbench.compiler.process_groups.cluster import refuse_hooks
from workbench.compiler.recording.recorder import FULL, Recorder
from workbench.compiler.request.callables import BoundCall, Callee
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.sizes import shapes
from workbench.compiler.sources.dynamo_messages import explain_own_error
from workbench.compiler.sources.sources import Places
from workbench.errors import CaptureError, UsageError, WorkbenchError, read_first_line, suggest
from workbench.number_text import plural
from workbench.report import Outcome, Report, Request
from workbench.report.collectives.collective_rows import BLOCKS
from workbench.report.collectives.shard_groups import SHARDS
from workbench.report.report_header import REQUIRES_GRAD
from workbench.tasks.progress_events import ProgressCallback, ProgressRaised

_FIXED = 6  # sizes that the code fixed, each in a note


@dataclass(frozen=True)
class CompiledCode:
    """What a compilation leaves behind: torch's function, how it is called and checked, its record.

    `original` is what was compiled, `example` the inputs that it was compiled for. `graphs` are
    those of the report that can be run, by their ids.
    """

    aot_fn: Any
    plan: CallPlan
    report: Report
    original: Callable[..., Any]
    example: Example
    graphs: Mapping[str, CapturedGraph] = field(default_factory=dict)


@dataclass
class _Run:
    """What the steps hand to one another."""

    request: CompileRequest
    call: BoundCall
    dynamic: shapes.DynamicShapes
    inductor: Mapping[str, Any]
    notes: tuple[str, ...]
    decisions: Decisions = field(default_factory=Decisions)
    eager: EagerCounter = field(default_factory=EagerCounter)

    @property
    def options(self) -> CompileOptions:
        """What is asked of the compilation."""
        return self.request.options

    @property
    def callee(self) -> Callee:
        """What is compiled, as Dynamo is given it."""
        return self.call.callee


@large_stack_chunk
@gc_throttle()
def compile_ahead(
    request: CompileRequest, progress: ProgressCallback | None = None
) -> CompiledCode:
    """Compile a call for its example inputs, recording every step.

    Raises `UsageError` for a request that cannot be, `CaptureError` when the compilation fails;
    the report of what was done until then is on the exception.
    """
    options = request.options
    devices = {value.device.type for value in request.args if isinstance(value, torch.Tensor)}
    builds = options.backend == "inductor" and devices <= {"cpu"} and not options.counts_eager
    with partial_pch() if builds else contextlib.nullcontext() as pch:
        return _for_every_size(_prepare(request), pch, progress)


def _for_every_size(
    run: _Run, pch: PartialPch | None, progress: ProgressCallback | None
) -> CompiledCode:
    """Compile without assuming that sizes are 2 or more where 0 or 1 is declared, if that works."""
    if run.dynamic.small:
        with contextlib.suppress(CaptureError), shapes.sizes_assumed(assumed=False):
            return _recording(run, pch, progress)
        run = replace(run, dynamic=run.dynamic.from_two(), decisions=Decisions())
    return _recording(run, pch, progress)


def _recording(
    run: _Run, pch: PartialPch | None, progress: ProgressCallback | None
) -> CompiledCode:
    options = run.options
    grad = torch.is_grad_enabled() if options.grad is None else options.grad
    with torch.set_grad_enabled(grad):
        state = GlobalState.current()
        request = _request(run, state)
        recorder = Recorder(options.capture, request, options.budgets)
        recorder.tell(progress)
        # The order matters: with `recorded` outermost an error of any of them gets the report. The
        # lock precedes what changes state that all threads share.
        with (
            recorded(
                recorder,
                partial(explain, name=run.callee.name, recorder=recorder),
                partial(_note_guards, recorder, run),
            ),
            tp.COMPILE_LOCK.get(),
            restore_automatic_dynamic(),
            start_fast(pch=pch),
            choose_fusion(options.fusion),
            keep_blocks_apart(options.blocks) as blocks,
            recorder,
            shapes.mark_examples(run.dynamic, run.call.bound),
        ):
            backend = _backend(run)
            recorder.step = "compile"
            aot_fn = _compile(run, backend)
            bytecode = tp.artifacts_of(aot_fn).runtime_env.bytecode
            recorder.bytecode.keep(bytecode, recorder.trace.compile_id)
            recorder.step = "contract"
            plan, conditions = _plan(run, aot_fn, state, recorder)
    _note_guards(recorder, run, plan.dropped)
    frozen = frozen_reads(run.decisions.entries, recorder.places)
    recorder.request = replace(
        request,
        inputs=_inputs(plan.contract, run.call.receiver),
        conditions=conditions,
        notes=(*request.notes, *frozen, *_fixed_notes(recorder)),
    )
    report = _with_caught_errors(recorder.report(outcome=Outcome()))
    report = run.eager.added(report) if options.counts_eager else report
    if blocks:
        shards = {} if options.shards is None else {SHARDS: options.shards.to_extra()}
        report = replace(report, extra={**report.extra, BLOCKS: dict(blocks), **shards})
    example = Example(run.call.bound, run.call.receiver)
    graphs = recorder.graphs.runnable
    return CompiledCode(aot_fn, plan, report, run.callee.entry, example, graphs)


def _with_caught_errors(report: Report) -> Report:
    """The report, which notes the errors of operators that only eager code catches."""
    notes = (*report.request.notes, *find_caught_errors(report))
    return replace(report, request=replace(report.request, notes=notes))


def _prepare(request: CompileRequest) -> _Run:
    options = request.options
    call = BoundCall.of(request.target, request.args, request.kwargs)
    refuse_hooks(call.callee.name, call.callee.module)
    _check_target(options.target, call.bound)
    inductor, notes = merge_options(options.backend_name, options.mode, options.options)
    if options.backend == "inductor":
        grad = torch.is_grad_enabled() if options.grad is None else options.grad
        notes += check_freezing(inductor, grad=grad)
    declared = shapes.rename_entries(options.dynamic_shapes, call.callee.function, call.bound)
    if options.dynamic and declared is None:
        declared = shapes.mark_every_size(call.inputs)
    dynamic = shapes.read(declared, call.inputs)
    notes = (*options.notes, *call.callee.notes, *notes)
    return _Run(request, call, dynamic, inductor, notes)


def _check_target(target: str, bound: Mapping[str, Any]) -> None:
    if target == "host":
        return
    for name, value in bound.items():
        for path, leaf in leaves(value, Path(name)):
            if isinstance(leaf, torch.Tensor) and leaf.device.type != target:
                raise UsageError(
                    f"target is {target!r} but {path} is on {leaf.device}. Move the inputs and the "
                    f"module there (.to({target!r})), or compile with target='host'."
                )


def _request(run: _Run, state: GlobalState) -> Request:
    contract = Contract.of(run.call.bound, run.dynamic, run.call.receiver)
    declared = None if run.options.dynamic_shapes is None else str(run.options.dynamic_shapes)
    declared = "every size" if declared is None and run.options.dynamic else declared
    return Request(
        name=run.callee.name,
        kind=run.callee.kind,
        backend=run.options.backend_name,
        mode=run.options.mode,
        options=tuple((name, repr(value)) for name, value in sorted(run.inductor.items())),
        target=run.options.target,
        grad=state.grad_mode,
        autocast=state.autocast,
        training=contract.training,
        guards=run.options.guards_name,
        capture=run.options.capture,
        dynamic_shapes=declared,
        inputs=_inputs(contract, run.call.receiver),
        notes=(*run.notes, *run.dynamic.notes),
        tf32=read_tf32_uses() if has_gpu() else (),
        fusion=() if run.options.fusion is None else run.options.fusion.rows(),
    )


def _fixed_notes(recorder: Recorder) -> tuple[str, ...]:
    notes = [size.note for size in recorder.sizes.fixed()]
    more = len(notes) - _FIXED
    rest = (
        [f"{plural(more, 'more size')} requested as dynamic, but fixed by the code"]
        if more > 0
        else []
    )
    return (*notes[:_FIXED], *rest)


def _inputs(contract: Contract, receiver: str | None) -> tuple[str, ...]:
    leaves = [leaf for leaf in contract.leaves or () if leaf.path.root != receiver]
    return tuple(
        f"{leaf.path}: {leaf.text}{REQUIRES_GRAD * leaf.requires_grad}"
        for leaf in leaves
        if leaf.kind == "tensor"
    )


def _backend(run: _Run) -> Any:
    if run.options.counts_eager:
        return run.eager.before(tp.BACKEND_WRAPPER.get()("eager", None, None, None))
    if run.options.backend == "inductor":
        return tp.INDUCTOR_WRAPPER.get()(None, dict(run.inductor), None)
    if isinstance(run.options.backend, str):
        backends = ["eager", "aot_eager", "inductor", *tp.LIST_BACKENDS.get()(exclude_tags=())]
        if run.options.backend not in backends:
            raise UsageError(
                f"backend is {run.options.backend!r}: expected one of "
                f"{', '.join(sorted(set(backends)))}, or a callable."
                f"{suggest(run.options.backend, backends)}"
            )
    return tp.BACKEND_WRAPPER.get()(run.options.backend, None, None, None)


def _compile(run: _Run, backend: Any) -> Any:
    """Dynamo, AOTAutograd, the backend, the guards: torch does these in one call."""
    patch_torch()
    try:
        return _compile_once(run, backend)
    except tp.FLOAT_RESTART.get():
        # torch restarts ordinary compilations for this and lets it escape from aot_compile
        with tp.DYNAMO_CONFIG.get().patch(specialize_float=True):
            return _compile_once(run, backend)


def _compile_once(run: _Run, backend: Any) -> Any:
    function = run.callee.function
    chosen = build_guard_filter(run.options.guards, function, run.decisions, run.call.receiver)
    hooks = tp.HOOKS.get()(guard_filter_fn=chosen)
    log = logging.getLogger(tp.TRACING.module)  # the error says what is held back
    of_guards = hold_messages(log, "Error while creating guard", "Created at")
    log = logging.getLogger(tp.FAKE_TENSOR_MODE.module)
    of_shapes = hold_messages(log, "failed while attempting to run meta")
    compiling = prepare_serialization(
        run.decisions, run.call.bound, is_cache_unread=run.options.capture == FULL
    )
    readable = drop_bad_annotations(function)
    with compiling, add_builtins_to_globals(), of_guards, of_shapes, readable:
        return tp.AOT_COMPILE_FULLGRAPH.get()(
            run.callee.entry, run.request.inputs, hooks, backend, dynamic=False
        )


def _plan(
    run: _Run, aot_fn: Any, state: GlobalState, recorder: Recorder
) -> tuple[CallPlan, tuple[str, ...]]:
    """How the code is called and checked, and what the sizes have to meet together."""
    function = run.callee.function
    module = find_globals_module(function)
    values = tuple(run.decisions.specialized.values())
    env = tp.artifacts_of(aot_fn).runtime_env
    instructions = list(dis.get_instructions(env.bytecode))
    loaded = {i.argval for i in instructions if i.opname == "LOAD_GLOBAL"}
    stored = sorted({i.argval for i in instructions if i.opname == "STORE_GLOBAL"})
    if stored:  # the code has globals of its own, where the new value would be lost
        raise CaptureError(
            f"{run.callee.name} assigns to the global {', '.join(stored)}, which compiled code "
            "does not update. Return the value, or keep it in a buffer, a module attribute, or a "
            "dict that is changed in place."
        )
    live = {name for name in loaded if name in env.used_globals} | run.decisions.guarded_globals
    live = {name for name in live if name in function.__globals__}
    declared = Contract.of(run.call.bound, run.dynamic, run.call.receiver)
    guards = (part for e in run.decisions.entries for part in _on_sizes(e))
    contract, conditions = captured(declared, recorder.sizes.fixed(), guards)
    arguments = contract.arguments()
    code = find_inlined(
        run.decisions.codes,
        function,
        run.callee.receiver[0] if run.callee.receiver else None,
        run.decisions.dropped,
        [entry.value for entry in run.decisions.entries if entry.has_value],
        frozenset(map(id, run.decisions.checked)),
    )
    variables = find_variables_read(run.decisions.entries, recorder.places)
    held = find_held_modules(run.decisions.entries)
    code = replace(code, parts=(*code.parts, *variables), held=held)
    entered = set(run.call.bound) - {run.call.receiver}
    plan = CallPlan(
        contract=contract,
        specialized=SpecializedValues.in_scopes(values, module, function.__globals__),
        state=state,
        receiver=run.callee.receiver,
        enters_no_grad=run.options.grad is False,
        live_globals={name: function.__globals__ for name in sorted(live)},
        function_module=module,
        kind=run.callee.kind,
        reference=find_importable_name(run.callee.function) if not run.callee.receiver else None,
        guarded=run.decisions.guarded,
        aliased=run.decisions.aliased,
        read_as_inputs=run.decisions.read_as_inputs,
        plain=is_plain(run.decisions, run.call.bound),
        dropped=(
            *list_dropped_guards(run.decisions, function, code, entered),
            *find_missing_variables(run.decisions.entries, recorder.places),
            *list_default_rows(function, run.call.bound),
            *list_closure_rows(function),
            *list_answer_rows(code),
        ),
        memory=SharedMemory.of(
            (str(leaf.path) for leaf in arguments),
            [leaf.path.get(run.call.bound) for leaf in arguments],
        )
        if has_argument_writes(aot_fn)
        else None,
        inlined=code,
        live=LiveGuards.of(run.decisions, function.__globals__),
    )
    return plan, conditions


def _on_sizes(entry: Any) -> tuple[str, ...]:
    """The conditions of torch's guard on sizes; of any other guard none."""
    parts = entry.orig_guard.code_list if entry.guard_type == "SHAPE_ENV" else None
    return tuple(str(part).partition("  # ")[0].strip() for part in parts or ())


def _note_guards(recorder: Recorder, run: _Run, rows: Sequence[Mapping[str, str]] = ()) -> None:
    decisions = run.decisions
    values = {id(e): row.get("frozen") for e, row in zip(decisions.dropped, rows, strict=False)}
    frozen = [values.get(id(entry)) for entry in decisions.entries]
    recorder.guards.note(decisions.entries, decisions.kept, decisions.reasons, frozen)


@contextlib.contextmanager
def recorded(
    recorder: Recorder,
    explained: Callable[[Exception], WorkbenchError],
    before: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Raise errors with the report of what was done until then, to which `before` adds.

    An interrupt stays what it is, and so does what the user's `progress` raised, which is no
    failure of the compiler; they have the report in the same attribute. What else is no error of
    the workbench is put in its words by `explained`.
    """
    try:
        yield
    except BaseException as raised:
        own = raised.error if isinstance(raised, ProgressRaised) else None
        error = raised if own is None else own
        before()
        words = str(error).strip().split("\n")[0]
        reported = error
        is_cancelled = isinstance(error, KeyboardInterrupt)
        if not isinstance(error, Exception):
            words = words or ("interrupted" if is_cancelled else repr(error))
        elif error is not own and not isinstance(error, WorkbenchError):
            reported = explained(error)
            is_own = explain_own_error(str(getattr(error, "msg", error))) is not None
            words = read_first_line(reported) if is_own else words
            release_frames(error)
        outcome = Outcome(ok=False, step=recorder.step, error=words, is_cancelled=is_cancelled)
        reported.report = recorder.report(outcome)  # type: ignore[attr-defined]
        if reported is raised:
            raise
        raise reported from (reported.__cause__ if reported is own else error)


_KEY = re.compile(r"_data\[b(['\"])(.+?)\1\]")
_READ = re.compile(r"(?:getenv\(|environ\[|environ\.get\()\s*(['\"])(.+?)\1")


def frozen_reads(entries: Sequence[Any], places: Places) -> tuple[str, ...]:
    """A sentence for each line of the user at which, by its guards, a compilation reads some."""
    by_place: dict[str, set[str]] = {}
    for entry, key in _reads(entries):
        place, named = _place(entry.orig_guard, places)
        if place is not None:
            by_place.setdefault(place, set()).update(named, key)
    return tuple(
        f"the environment variable {key or 'of this line'} is frozen at capture: {place}"
        for place, keys in by_place.items()
        for key in sorted(keys) or ("",)
    )


def find_missing_variables(entries: Sequence[Any], places: Places) -> Iterator[Mapping[str, str]]:
    """The variables that these lines name and that are not set, as rows of what no file holds."""
    named = (_place(entry.orig_guard, places)[1] for entry, _ in _reads(entries))
    for key in dict.fromkeys(key for keys in named for key in keys if key not in os.environ):
        yield {
            "name": f"G['os'].environ[{key!r}]",
            "kind": "ENVIRONMENT",
            "why": "torch has no guard for an environment variable that is not set",
            "frozen": "not set",
            "place": f"os.environ[{key!r}]",
        }


def find_variables_read(entries: Sequence[Any], places: Places) -> Iterator[Inlined]:
    """The variables that no guard of torch compares: not set, or read by a function of Python."""
    variables: dict[str, Inlined] = {}
    for entry, key in _reads(entries):
        is_asked = entry.has_value and entry.value is os.getenv
        for name in (*key, *_place(entry.orig_guard, places)[1]):
            value = os.environ.get(name)
            if value is None or is_asked:
                variables[name] = ask_environment(name, value)
    yield from variables.values()


def _reads(entries: Sequence[Any]) -> Iterator[tuple[Any, list[str]]]:
    """The guards that stand for the environment or a part of it, with the variable's name."""
    held = tuple(e.name for e in entries if e.has_value and e.value is os.environ)
    for entry in entries:
        is_part = bool(held) and entry.name.startswith(held)
        if is_part or (entry.has_value and entry.value is os.getenv):
            named = _KEY.search(entry.name)
            yield entry, [named[2]] if named else []


def _place(guard: Any, places: Places) -> tuple[str | None, list[str]]:
    """The innermost line of the user's own, and the variables that it names."""
    for frame in reversed(guard.user_stack or ()):
        if places.is_own(frame.filename):
            text = linecache.getline(frame.filename, frame.lineno)
            place = f"{places.shown(frame.filename)}:{frame.lineno}"
            return place, [name for _, name in _READ.findall(text)]
    return None, []
