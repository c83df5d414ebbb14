"""Every graph break of a function and of what it calls, found by running it under Dynamo."""

from __future__ import annotations

import contextlib
import copy
import itertools
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, ClassVar

import torch

from workbench.analysis.source.caught_errors import find_caught_errors
from workbench.compiler.call_state.call_leaves import copy_all_inputs, restore_state
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.dynamo_state import preserved
from workbench.compiler.internals.failed_compilation import release_frames
from workbench.compiler.internals.patches import Patches, hold_messages, hold_torch_warnings
from workbench.compiler.measuring.silence import silent
from workbench.compiler.recording.recorder import Recorder
from workbench.compiler.request.callables import resolve, uncompiled
from workbench.errors import describe_error
from workbench.live_only import LiveOnly
from workbench.number_text import plural
from workbench.report import Break, Guard, Outcome, Report, Request, Table
from workbench.report.rows import REFUSED_CALL, REFUSED_GRAPH
from workbench.tasks.live_action import LiveAction

_TRIES_IN_LOOP = 10
_OURS = frozenset({"Observed exception"})  # caught by a `try` that is not there the second time
_ENDED = (
    "the run ended at a torch.cond (or similar) that was not captured; later breaks are not listed"
)
_FIRST = (
    "Only a first call breaks here; a second call with the same inputs did not. Call the function "
    "once before compiling it."
)
_NO_SECOND = (
    "the function does not accept a second call with the same inputs, so breaks that occur only "
    "in a first call cannot be identified"
)
NOT_LOWERED = "captured and traced; Inductor was not run"
_TRACED = "aot_eager_decomp_partition"
_FELL_BACK = "Backend compiler exception"
_EXPECTED = (tp.UNSUPPORTED, tp.USER_ERROR, tp.UNCAPTURED, tp.SKIPPED_FRAME)
_OPS = ("call_function", "call_method", "call_module")


@dataclass(frozen=True)
class Explanation(LiveOnly):
    """Hold the graph breaks of a function; `report` has the graphs and their sources.

    `recipe` is the call, to try a rewrite of it; None if it is not alive. `live_actions` are the
    actions that a view can then start.
    """

    breaks: tuple[Break, ...]
    graph_count: int
    op_count: int
    guards: tuple[Guard, ...]
    report: Report = field(repr=False)
    recipe: Any = field(default=None, repr=False, compare=False)
    live_actions: tuple[LiveAction, ...] = field(default=(), repr=False, compare=False)

    instead: ClassVar[str] = "Save its report with .report.save(path)."

    def __deepcopy__(self, memo: Any) -> Explanation:
        """Itself: nothing in it changes."""
        return self

    def __repr__(self) -> str:
        """A short stable summary."""
        return (
            f"Explanation({plural(len(self.breaks), 'break')}, "
            f"{plural(self.graph_count, 'graph')}, {plural(self.op_count, 'operator')}, "
            f"{plural(len(self.guards), 'guard')})"
        )

    def __str__(self) -> str:
        """Show the summary and one paragraph for each break."""
        lines = [f"{plural(self.graph_count, 'graph')} with {plural(self.op_count, 'operator')}"]
        if not self.breaks:
            lines.append(f"no graph break; {NOT_LOWERED}")
        for b in self.breaks:
            times = f" ({b.count} times)" if b.count > 1 else ""
            lines += ["", f"{b.file}:{b.line} in {b.function}{times}", f"    {b.text}"]
            lines.append(f"  {b.kind}{f' [{b.gb_id}]' if b.gb_id else ''}")
            lines += [f"  {b.explanation}"] if b.explanation else []
            lines += [f"  - {hint}" for hint in b.hints]
        for note in self.report.request.notes:
            lines += ["", f"note: {note}"]
        return "\n".join(lines)


class _Backend:
    """What torch.compile calls with each graph, until `take` is taken off it.

    Dynamo keeps every backend for the life of the process (2.11 to 2.15, `cached_backends`), and
    with it whatever it holds.
    """

    def __init__(self, take: Callable[[torch.fx.GraphModule, Any], Callable[..., Any]]):
        self.take: Callable[..., Callable[..., Any]] | None = take

    def __call__(self, module: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        assert self.take is not None
        return self.take(module, inputs)


@dataclass
class _Capture:
    """Runs calls under Dynamo, counts each graph and runs it as it is.

    AOTAutograd traces a graph first, with the operators that Inductor takes apart: that is all
    that torch.compile does before it generates code. What fails, and runs without the compiler,
    becomes a break of the recorder, and its graph does not count.
    """

    recorder: Recorder
    graphs: int = 0
    ops: int = 0
    guards: list[Any] = field(default_factory=list)
    _codes: list[CodeType] = field(default_factory=list)

    def _take(self, module: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        copied = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
        try:
            with self.recorder.paused():
                tp.BACKEND_WRAPPER.get()(_TRACED, None, None, None)(copied, inputs)
        except Exception as error:
            self.recorder.breaks.take_compile_failure(REFUSED_GRAPH, error, self._codes[-1])
            if isinstance(error, tp.BACKEND_FALLBACKS.get()):
                raise  # torch.compile breaks the graph here, and so does this capture
            release_frames(error)
            return module.forward
        self.graphs += 1
        self.ops += sum(node.op in _OPS for node in module.graph.nodes)
        return module.forward

    def run(self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call it once as `torch.compile` would, keeping every guard; returns what it gives."""
        config = tp.DYNAMO_CONFIG.get()
        settings = {
            "recompile_limit": 64,
            "accumulated_recompile_limit": 1024,
            "suppress_errors": True,
            "automatic_dynamic_local_pgo": False,  # it would keep the sizes of this run in a file
            "automatic_dynamic_remote_pgo": False,
        }
        present = {key: value for key, value in settings.items() if hasattr(config, key)}
        # torch prints a break once for each process, though the break says it
        log = tp.SCALAR_LOG.find()
        quiet = hold_torch_warnings()
        self.recorder.breaks.ignored |= {_FELL_BACK}  # of which the backend has made a row
        with (
            config.patch(present),
            hold_messages(log, "Graph break from"),
            quiet,
            warnings.catch_warnings(),
            Patches() as patches,
        ):
            warnings.filterwarnings("ignore", message="Dynamo does not know how to trace")
            warnings.filterwarnings("ignore", module=r"torch(\.|$)")
            patches.wrap(tp.COMPILE_FRAME, self._frame)
            options: dict[str, Any] = {"guard_filter_fn": self._keep}
            backend = _Backend(self._take)
            try:
                compiled: Callable[..., Any] = torch.compile(
                    target, backend=backend, options=options
                )
                return compiled(*args, **kwargs)
            finally:
                backend.take = None

    def run_again(self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Run silently on copies of the inputs; buffers are put back."""
        module = target if isinstance(target, torch.nn.Module) else None
        inputs, named = copy_all_inputs(tuple(args), kwargs)
        with silent(), preserved(), restore_state(module):
            self.run(target, inputs, named)

    def _keep(self, entries: Sequence[Any]) -> list[bool]:
        self.guards.extend(entries)
        return [True] * len(entries)

    def _frame(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """Record a frame that Dynamo hands to eager because it failed, which its log alone says.

        What the program itself does wrong then ends the run with its own error.
        """

        def compile_frame(code: CodeType, *args: Any, **kwargs: Any) -> Any:
            self._codes.append(code)
            try:
                return inner(code, *args, **kwargs)
            except Exception as error:
                if not isinstance(error, tuple(row.get() for row in _EXPECTED)):
                    self.recorder.breaks.take_compile_failure(REFUSED_CALL, error, code)
                release_frames(error)
                raise
            finally:
                self._codes.pop()

        return compile_frame


def explain(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Explanation:
    """Find every graph break of a call; never raises because of one.

    Each graph is captured by Dynamo and traced by AOTAutograd: a call that either cannot compile
    has a row among the breaks. Inductor is not run.

    The function is **executed**, with its side effects, once as `torch.compile` would run it; when
    there are breaks, once more, silently, to see which of them a first call only meets; and when
    one stands where Dynamo gives a function up (in a loop or a `try`), once more to see what comes
    after it. The later runs get copies of the inputs. An error that the function itself raises is
    raised here too. What Dynamo had compiled before stays, and so do its counters and the random
    state.

    Parameters
    ----------
    fn
        A function, a method, a module or what `torch.compile` made of one.
    args, kwargs
        The arguments of the call.
    """
    resolve(fn)  # refuses what is no function of Python
    target: Any = fn
    while (inner := uncompiled(target)) is not None:
        target = inner
    name = getattr(target, "__qualname__", type(target).__name__)
    recorder = Recorder(request=Request(name=name, backend="eager", kind="explanation"))
    capture = _Capture(recorder)
    notes: tuple[str, ...] = ()
    with preserved(), recorder:
        try:
            capture.run(target, args, kwargs or {})
        except tp.UNCAPTURED.get() as error:  # torch.compile does not go on after it either
            recorder.breaks.take(error)
            notes = (_ENDED,)
    met = frozenset(row.id for row in recorder.breaks.table.rows())
    if recorder.breaks.gave_up:
        notes += _look_further(recorder, target, args, kwargs or {})
    recorder.request = replace(recorder.request, notes=notes)
    count = len(capture.guards)
    recorder.guards.note(capture.guards, [True] * count, [None] * count)
    report = recorder.report(Outcome())
    notes += find_caught_errors(report)
    report = replace(report, request=replace(report.request, notes=notes))
    if met and _ENDED not in notes:
        report = _marked(report, met, target, args, kwargs or {})
    breaks, guards = tuple(report.breaks), tuple(report.guards)
    return Explanation(breaks, capture.graphs, capture.ops, guards, report)


@dataclass(frozen=True)
class Captured:
    """What one call gave under Dynamo, each graph run as it is, and what it was captured into.

    `gave_up`: Dynamo left a function at a break, and later breaks of it are not listed.
    """

    result: Any
    graphs: int
    breaks: tuple[Break, ...]
    gave_up: bool


def capture(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Captured:
    """Call it once as `torch.compile` would; the inputs are used as they are.

    What Dynamo had compiled before stays. Raises what the function raises.
    """
    captured = _Capture(Recorder(level="light", request=Request(kind="explanation")))
    with preserved(), captured.recorder:
        result = captured.run(target, args, kwargs)
    breaks = captured.recorder.breaks
    return Captured(result, captured.graphs, tuple(breaks.table.rows()), breaks.gave_up)


def _marked(
    report: Report,
    first: Collection[str],
    target: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Report:
    """The report with a hint on each of the first breaks that a second call does not meet."""
    again = Recorder(level="light", request=report.request)
    try:
        with again:
            _Capture(again).run_again(target, args, kwargs)
    except Exception:  # the function does not take a second call
        request = replace(report.request, notes=(*report.request.notes, _NO_SECOND))
        return replace(report, request=request)
    met = {(row.file, row.line) for row in again.breaks.table.rows()}
    rows = [
        replace(row, hints=(_FIRST, *row.hints))
        if row.id in first and (row.file, row.line) not in met
        else row
        for row in report.breaks
    ]
    return replace(report, tables={**report.tables, "breaks": Table.of(Break, rows)})


def _look_further(
    recorder: Recorder, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[str, ...]:
    """Run once more, silently, past the breaks at which Dynamo gave a function up.

    Only its breaks are added: its graphs are none that torch.compile makes. Returns a sentence when
    that run ended with an error, which may hide later breaks: without its `try`, a function ends
    with what it would have caught.
    """
    further = Recorder(level="light", request=recorder.request)
    further.breaks.ignored = _OURS
    notes: tuple[str, ...] = ()
    try:
        with further, _resumable():
            _Capture(further).run_again(target, args, kwargs)
    except Exception as error:  # whatever the user's own function catches otherwise
        notes = (
            "the second run, which continues past breaks inside a loop or a `try` block, raised "
            f"{describe_error(error)}; later breaks are not listed",
        )
    recorder.breaks.add(further.breaks)
    return notes


@contextlib.contextmanager
def _resumable() -> Iterator[None]:
    """Let Dynamo go on after a break in a loop, a few times for each line, or in a `try`.

    Dynamo gives a function up at the first break in a loop or a `try` of it, and would not see the
    others. A `try` is taken away from what it traces: what it would have caught ends the run.
    """
    tries: dict[tuple[str, int], int] = {}

    def loops(inner: Callable[..., bool]) -> Callable[..., bool]:
        def maybe_has_backedge(translator: Any, *args: Any) -> bool:
            key = (translator.f_code.co_filename, translator.lineno)
            tries[key] = tries.get(key, 0) + 1
            return tries[key] > _TRIES_IN_LOOP and inner(translator, *args)

        return maybe_has_backedge

    def blocks(inner: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: _without_try(inner(*args, **kwargs))

    with Patches() as patches:
        patches.wrap(tp.MAYBE_HAS_BACKEDGE, loops)
        for name in tp.CLEANED_INSTRUCTIONS:
            patches.wrap(name, blocks)
        yield


def _without_try(instructions: Sequence[Any]) -> Sequence[Any]:
    """The instructions without the handlers of `try`; those of `with` stay."""
    following = {id(a): b for a, b in itertools.pairwise(instructions)}
    outer = None
    for instruction in instructions:
        entry = instruction.exn_tab_entry
        if entry is None:
            outer = None
            continue
        handler = following.get(id(entry.target))
        if handler is not None and handler.opname == "WITH_EXCEPT_START":
            outer = entry
        else:
            instruction.exn_tab_entry = outer
    return instructions
