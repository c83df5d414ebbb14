"""Compiles of frames and of backwards, each recorded with a report of its own."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from types import CodeType
from typing import Any, cast

import torch
from torch.nn import Module

from workbench.analysis.source.recompile_reasons import Reason, read_reason
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.cpython_costs import gc_throttle
from workbench.compiler.internals.failed_compilation import release_frames
from workbench.compiler.internals.older_releases import find_backward_hook, variants
from workbench.compiler.internals.patches import Patches
from workbench.compiler.recording.recorder import Recorder
from workbench.compiler.sources.dynamo_messages import RESUMED, explain_own_error, strip_reason
from workbench.compiler.sources.sources import Places
from workbench.errors import UsageError, describe_error
from workbench.report.program.record_rows import Compile, ProgramRecompile
from workbench.report.report_header import Request
from workbench.worlds.sessions.recording.evidence import find_evidence
from workbench.worlds.sessions.recording.frame_names import (
    Frame,
    collect_callers_locals,
    find_calling_frame,
    frame_of,
    is_users,
)
from workbench.worlds.sessions.recording.open_compile import (
    MOST_KEPT,
    OpenCompile,
    keep_call,
    request_of,
)
from workbench.worlds.sessions.recording.steps import HOOK, Steps
from workbench.worlds.sessions.rows.session_rows import place

PANE = "compiles"
REPORTS = 64
"""Compiles whose reports are kept: the costliest of a session."""
_LIMIT = "recompile limit"
_ACCOUNTS = ("compilation_metrics", "bwd_compilation_metrics")
_COUNTED = tuple(
    (f"{name} {what}", group, f"{prefix}_{what}")
    for name, group, prefix in (
        ("FX graph", "inductor", "fxgraph_cache"),
        ("AOTAutograd", "aot_autograd", "autograd_cache"),
    )
    for what in ("hit", "miss", "bypass")
)
"""What torch's own counters count of its caches: in words, group, key."""


class Compiles:
    """Every compile of a session, in the order in which they began."""

    def __init__(self, patches: Patches, steps: Steps, level: str):
        self._patches, self._steps, self._level = patches, steps, level
        self.places = Places()
        self.found: list[OpenCompile] = []
        self._local = threading.local()
        self.on_failure: Callable[[CodeType, OpenCompile, str], object] = lambda *_: None

    def install(self) -> None:
        """Watch compiles until the patches are undone."""
        wraps = (
            (tp.COMPILE_FRAME, self._frame),
            (tp.RECOMPILE_REASONS, self._reasons),
            find_backward_hook(self._backward, self._older_backward),
        )
        for name, make in wraps:
            self._patches.wrap(name, make, PANE, is_everywhere=True)

    @property
    def current(self) -> OpenCompile | None:
        """The innermost compile of this thread that goes on."""
        stack = self._stack
        return stack[-1] if stack else None

    def named(self, text: str) -> str:
        """A text about the compile that goes on, with sizes in place of torch's symbols."""
        recorder = None if self.current is None else self.current.first.recorder
        return text if recorder is None else recorder.sizes.named(text)

    @property
    def _stack(self) -> list[OpenCompile]:
        stack: list[OpenCompile] = self._local.__dict__.setdefault("stack", [])
        return stack

    def _frame(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def compile_frame(code: CodeType, *args: Any, **kwargs: Any) -> Any:
            row = self._begin(str(kwargs.get("compile_id")), code, *_parts(args))
            self._patches.guarded(PANE, self._keep_call, row, code, args)
            try:
                result = self._run(row, inner, code, *args, **kwargs)
            except Exception as error:
                self._failed(row, code, error)
                release_frames(error)
                raise
            row.outcome = "graph" if row.ops else "no graph"
            self._patches.guarded(PANE, row.keep_bytecode, result)
            self._patches.guarded(PANE, _tell_fixed, row, result)
            return result

        return compile_frame

    def _keep_call(self, row: OpenCompile, code: CodeType, args: tuple[Any, ...]) -> None:
        """Keep the arguments of a call, so that a change can be tried on it."""
        names, values = args[:2]
        left = MOST_KEPT - sum(each.call.size for each in self.found if each.call is not None)
        if row.kind == "first" and is_users(self.places, row.file):
            # what cannot be copied or held weakly, as a range or an empty cell, is not tried again
            with suppress(TypeError, ValueError, UsageError, RuntimeError):
                row.call = keep_call(code, names, values, _parts(args)[0], left)

    def _begin(
        self, id: str, code: CodeType, closure: tuple[Any, ...], backend: Any
    ) -> OpenCompile:
        request = request_of(self._level, backend)
        match = RESUMED.match(code.co_name)
        kind = "resume" if match else "autograd" if id.startswith("!") else "first"
        frame = self._resumed(match, code) if match else frame_of(code, closure)
        if kind == "autograd":  # torch calls it "forward"
            frame = replace(frame, function="compiled autograd")
        if not is_users(self.places, frame.file):
            at = find_calling_frame(self.places)
            frame = frame if at is None else replace(frame, file=at.file, line=at.line)
        row = self._open(id, frame, kind, request)
        row.code, row.around, row.arguments = code, frame.around, frame.arguments
        row.resumed_at = int(match[2]) if match else 0
        return row

    def _resumed(self, match: re.Match[str], code: CodeType) -> Frame:
        """The frame whose rest this one is, named as its first part was.

        A file may have several of one name: the line is in the one that begins last before it.
        """
        own = [
            (row.code.co_firstlineno, row.function)
            for row in self.found
            if row.code is not None
            and (row.code.co_name, row.code.co_filename) == (match[1], code.co_filename)
            and row.code.co_firstlineno <= int(match[2])
        ]
        name = max(own)[1] if own else match[1]
        return Frame(name, code.co_filename, code.co_firstlineno)

    def _open(
        self, id: str, frame: Frame, kind: str, request: Request, forward: OpenCompile | None = None
    ) -> OpenCompile:
        """A row that begins; what is recorded of a backward is added to that of its forward."""
        is_added = forward is not None and forward.has_report
        recorder = (
            None if is_added else Recorder(self._level, replace(request, name=frame.function))
        )
        at, number = self._steps.now(), self._steps.number
        row = OpenCompile(
            id, frame.function, frame.file, frame.line, number, at, kind, request, recorder
        )
        if is_added and forward is not None:
            row.forward, forward.backward = forward, row
        self.found.append(row)
        return row

    def _run(self, row: OpenCompile, inner: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with self._running(row):
            return inner(*args, **kwargs)

    @contextmanager
    def _running(self, row: OpenCompile) -> Iterator[None]:
        stack, before, refused = self._stack, _count_cache_answers(), False
        stack.append(row)
        try:
            with gc_throttle(), self._recorded(row):
                yield
        except BaseException as error:
            row.outcome = "error" if isinstance(error, Exception) else "interrupted"
            refused = _LIMIT in str(getattr(error, "msg", error))
            raise
        finally:
            stack.pop()
            row.total_s, row.is_over = self._steps.now() - row.at_s, True
            counts = _count_cache_answers()
            row.cache = ", ".join(words for words in counts if counts[words] > before[words])
            if not stack:
                self._steps.compiled(row.total_s)
            if not refused:  # which is an event of its own
                kind = "recompile" if row.kind == "recompile" else "compile"
                self._steps.event(kind, row.id, row.function, row.why or row.kind, row.total_s)
            self._drop_cheap()

    @contextmanager
    def _recorded(self, row: OpenCompile) -> Iterator[None]:
        recorder = row.first.recorder
        if recorder is None:
            yield
            return
        for name in _ACCOUNTS:
            recorder.trace.on(name, row.metrics, PANE)
        try:
            with recorder:
                yield
        finally:
            # a backward and compiled autograd take what torch has saved and lifted
            if row.kind not in ("autograd", "backward"):
                row.inputs, row.writes = recorder.graphs.inputs, recorder.graphs.written
                self._patches.guarded(PANE, row.note_caught_errors)
            for name in _ACCOUNTS:
                recorder.trace.off(name, row.metrics, PANE)

    def _drop_cheap(self) -> None:
        """Let go of the recorder of the cheapest compile when there are too many."""
        kept = [row for row in self.found if row.recorder is not None]
        if len(kept) > REPORTS:
            done = [row for row in kept if row.has_report]
            min(done, key=lambda row: row.whole_s).recorder = None

    def leave(self) -> None:
        """The session ends: what is compiled in other threads has taken so long until now."""
        for at, seconds in self.going_on().items():
            self.found[at].total_s = seconds

    def _failed(self, row: OpenCompile, code: CodeType, error: Exception) -> None:
        message = str(getattr(error, "msg", error))
        if HOOK in message:  # a compiled optimizer stops before the session's own hook
            row.outcome = "no graph"
            return
        text = self.describe_own_error(error) or _sentence(message) or describe_error(error)
        row.outcome = "limit" if _LIMIT in text else "skipped"
        row.why = row.why or text
        self.on_failure(code, row, text)

    def describe_own_error(self, error: BaseException) -> str:
        """What the program itself does wrong and where; empty for what torch cannot capture."""
        own = explain_own_error(str(getattr(error, "msg", error)))
        frames = getattr(error, "real_stack", None) or ()
        stack = [frame for frame in frames if self.places.is_user(frame.filename)]
        if own is None or not stack:
            return own or ""
        return f"{own} at {place(self.places.shown(stack[-1].filename), stack[-1].lineno)}"

    def _backward(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def get_or_compile(compiler: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(compiler, "compiled_bw", None) is not None:
                return inner(compiler, *args, **kwargs)
            info = getattr(compiler, "lazy_backward_info", None)
            context = getattr(info, "saved_compile_context", None)
            row = self._open_backward(str(context.compile_id) if context else "")
            result = self._run(row, inner, compiler, *args, **kwargs)
            row.outcome = "graph"
            return result

        return get_or_compile

    def _older_backward(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def track_graph_compiling(config: Any, graph: str) -> AbstractContextManager[None]:
            context: AbstractContextManager[None] = inner(config, graph)
            return self._tracked(context) if graph == "backward" else context

        return track_graph_compiling

    @contextmanager
    def _tracked(self, tracked: AbstractContextManager[None]) -> Iterator[None]:
        row = self._open_backward(str(tp.CURRENT_COMPILE_ID.get()() or ""))
        with self._running(row), tracked:
            yield
        row.outcome = "graph"

    def _open_backward(self, id: str) -> OpenCompile:
        of = self.of(id)
        frame = Frame(of.function, of.file, of.line) if of else Frame("", "", 0)
        request = of.request if of else request_of(self._level, None)
        row = self._open(id, frame, "backward", request, of)
        row.inputs = of.inputs if of else ""
        return row

    def of(self, id: str) -> OpenCompile | None:
        """The last forward that was compiled under an id."""
        own = (row for row in reversed(self.found) if row.id == id and row.kind != "backward")
        return next(own, None)

    def _reasons(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def reasons(entries: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
            texts = inner(entries, frame, *args, **kwargs)
            if (row := self.current) is not None:
                self._patches.guarded(PANE, self._take_reasons, row, texts, entries, frame)
            return texts

        return reasons

    def _take_reasons(self, row: OpenCompile, texts: Any, entries: Any, frame: Any) -> None:
        """The variant most of whose guards hold says why; the others stand behind it.

        The code of a wrapper stands for all that it wraps: variants of another function are none of
        this one, whose first compile torch counts as one more.
        """
        kept = {str(entry.compile_id): entry for entry in variants(entries)}
        reasons = [read_reason(strip_reason(text)) for text in texts]
        if row.is_of_wrapper:
            reasons = [reason for reason in reasons if not self._is_of_another(row, reason)]
            kept = {reason.against: kept[reason.against] for reason in reasons}
            if not kept:
                return
        row.kind = "recompile"
        held = {  # by variant, how many of its guards hold
            id: entry.guard_manager.check_verbose(frame.f_locals).num_guards_executed
            for id, entry in kept.items()
        }
        reasons.sort(key=lambda reason: -held.get(reason.against, 0))
        classes: tuple[str, ...] = ()
        if reasons and reasons[0].against in kept:
            scope = scope_of(kept[reasons[0].against], frame)
            actual = reasons[0].actual or read_actual_value(reasons[0].source, scope)
            reasons[0] = replace(reasons[0], actual=actual)
            source = reasons[0].source.removeprefix("len(")
            holder = scope.read(source.rpartition(".")[0] or "None")
            row.is_of_module = isinstance(holder, Module)
            classes = () if holder is None else tuple(c.__name__ for c in type(holder).__mro__)
            self._patches.guarded(PANE, self._compare, row, reasons[0], scope, kept)
        named = [_named(reason, row.arguments) for reason in reasons]
        if reasons:
            what = reasons[0].kind, named[0].source, classes
            self._patches.guarded(PANE, self._find_evidence, row, *what)
        row.reasons = [(reason, not rank, len(kept)) for rank, reason in enumerate(named)]
        row.why = named[0].guard if named else "no guard of an earlier variant was found"

    def _find_evidence(
        self, row: OpenCompile, kind: str, source: str, classes: tuple[str, ...]
    ) -> None:
        """The lines of the program that a recompile is about."""
        if row.code is None:
            return
        inner = row.around and row.around()
        code = getattr(inner, "__code__", row.code)
        names = row.arguments or code.co_varnames[: code.co_argcount]
        at = find_calling_frame(self.places)
        row.evidence = find_evidence(self.places, code, kind, source, at, names, classes)

    def _is_of_another(self, row: OpenCompile, reason: Reason) -> bool:
        """Whether a variant of a wrapper is of another function than a compile is.

        Of one that was compiled before the session began, the guard on what it wraps tells.
        """
        known = [each for each in self.found if each.id == reason.against and each.code is row.code]
        if known:
            return not known[-1].is_same(row)
        is_argument = reason.source.startswith(("args", "kwargs", "len("))
        return reason.kind in ("identity", "type") and not is_argument

    def _compare(
        self, row: OpenCompile, reason: Reason, scope: Scope, kept: Mapping[str, Any]
    ) -> None:
        """What else differs from the nearest variant, and whether a loader explains a size."""
        also = [read_reason(text).guard for text in find_failed_guards(kept[reason.against], scope)]
        row.also = tuple(
            translate_guard(guard, row.arguments)
            for guard in dict.fromkeys(also)
            if guard != reason.guard
        )
        row.is_automatic = bool(tp.DYNAMO_CONFIG.get().automatic_dynamic_shapes)
        row.is_last_batch = reason.kind == "size" and is_of_last_batch(
            reason.expected, reason.actual, collect_callers_locals()
        )

    def rows(self) -> list[Compile]:
        """A row for each compile."""
        names = [name for name in Compile.__slots__ if name != "file"]
        return [
            Compile(
                **{name: getattr(row, name) for name in names}, file=self.places.shown(row.file)
            )
            for row in list(self.found)
        ]

    def going_on(self) -> dict[int, float]:
        """Seconds of the compiles that have not ended, by their row."""
        now = self._steps.now()
        return {at: now - row.at_s for at, row in enumerate(list(self.found)) if not row.is_over}

    def recompiles(self) -> list[ProgramRecompile]:
        """A row for each earlier variant that did not fit."""
        return [
            ProgramRecompile(
                compile_id=row.id,
                function=row.function,
                step=row.step,
                against=reason.against,
                nearest=nearest,
                guard=reason.guard,
                kind=reason.kind,
                source=reason.source,
                expected=reason.expected,
                actual=reason.actual,
                variants=count,
                cost_s=sum(each.total_s for each in self.found if each.id == row.id),
                file=self.places.shown(row.file),
                line=row.line,
                also=row.also if nearest else (),
                is_last_batch=row.is_last_batch and nearest,
                fixed_by=row.fixed_by if nearest else "",
                resumed_at=row.resumed_at,
                **({**_tell(row), "writes": self._list_written(row)} if nearest else {}),
            )
            for row in list(self.found)
            for reason, nearest, count in row.reasons
        ]

    def _list_written(self, row: OpenCompile) -> tuple[str, ...] | None:
        """The inputs that any variant of a function writes to; None where that is not known.

        What follows a graph break is code of its own, which may write to them too.
        """
        own = [each for each in self.found if each.kind != "backward" and each.is_same(row)]
        written: set[str] = set()
        for each in own:
            if each.outcome == "limit":
                continue
            if each.writes is None or each.breaks or each.resumed_at:
                return None
            written |= {translate_guard(name, row.arguments) for name in each.writes}
        return tuple(sorted(written))


def _tell(row: OpenCompile) -> dict[str, Any]:
    """The lines of the program in the fields of a row."""
    found = row.evidence
    lines = {name: getattr(found, name) for name in ("set_by", "made_by", "called_by", "called_as")}
    lines["is_of_module"] = row.is_of_module
    lines["tried"] = row.tried
    if len(found.changed) != 1:
        return {**lines, "suspects": found.changed}
    file, line, code = found.changed[0]
    return {**lines, "changed_at": line, "changed_by": code, "changed_in": file}


def _sentence(text: str) -> str:
    """The first line of a message; with the next where it only announces that."""
    lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
    return " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])


def _parts(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
    """The cells and the backend of a frame: the fourth and fifth argument after its code."""
    closure, backend = (*args[3:5], None, None)[:2]
    return closure if isinstance(closure, tuple) else (), backend


def _tell_fixed(row: OpenCompile, result: Any) -> None:
    """Whether the new variant is for one size or number only, as the one before it was."""
    nearest = next((reason for reason, is_nearest, _ in row.reasons if is_nearest), None)
    code = getattr(result, "guarded_code", None)
    if nearest is None or code is None or nearest.kind not in ("size", "value"):
        return
    if is_fixed(code.guard_manager, nearest.source, row.arguments):
        row.fixed_by = "the code" if row.is_automatic else "dynamic=False"


def _named(reason: Reason, arguments: tuple[str, ...]) -> Reason:
    """A reason in the names of what a wrapper wraps."""
    return replace(
        reason,
        guard=translate_guard(reason.guard, arguments),
        source=translate_guard(reason.source, arguments),
        tensor=translate_guard(reason.tensor, arguments),
    )


def _count_cache_answers() -> dict[str, int]:
    """How often each cache has answered in each way."""
    counters = tp.COUNTERS.find() or {}
    return {
        words: counters[group][key] if group in counters else 0 for words, group, key in _COUNTED
    }


def is_of_last_batch(usual: str, now: str, names: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a `DataLoader` in these names gives batches of the usual size, and one of the other.

    The loader of a loop is on the stack of the program: in the names of whoever wrote the loop.
    """
    from torch.utils.data import DataLoader

    if not (usual.isdigit() and now.isdigit()):
        return False
    values: Iterator[Any] = (value for held in names for value in held.values())
    for loader in (value for value in values if isinstance(value, DataLoader)):
        with suppress(TypeError):  # a sampler, or a data set to go through, may have no length
            is_whole = loader.batch_size != int(usual) or loader.drop_last
            if not is_whole and len(cast(Any, loader.sampler)) % int(usual) == int(now):
                return True
    return False


MOST = 64
"""Guards that are told of one variant: with one change to all layers of a model they are many."""
_LOCAL = re.compile(r"\bL\['(\w+)'\]")
_TENSOR = re.compile(
    r"^check_tensor\((?P<source>.+?), [\w.]+, (?:DispatchKeySet\([^)]*\)|None), "
    r"(?P<dtype>[\w.]+), device=\w+, requires_grad=(?P<grad>True|False), "
    r"size=\[(?P<size>[^\]]*)\], stride=\[(?P<stride>[^\]]*)\]\)"
)
_VALUE = re.compile(r"^(?P<source>(?:L|G)\[.+?) == (?P<expected>.+)$")
_OBJECT = re.compile(r"^___check_(?:obj|type)_id\(")


@dataclass(frozen=True)
class Scope:
    """The names that the guards of a variant are written in, with their values of one call."""

    names: Mapping[str, Any]

    def read(self, source: str) -> Any:
        """What stands at a source of torch's, such as `L['x'].size()[0]`; None where nothing does.

        A guard reads the same, so nothing is read that torch has not read.
        """
        try:
            return eval(source, dict(self.names))
        # the new call may lack what the old one had, and a user's property may raise anything
        except Exception:
            return None


def scope_of(entry: Any, frame: Any) -> Scope:
    """The names of a variant's guards, for the values of a frame.

    Torch leaves `L[…]` out of what it shows, so the values stand under their own names too.
    """
    manager = entry.guard_manager
    held = getattr(manager, "closure_vars", None) or {}
    globals_ = (getattr(manager, "global_scope", None) or {}).get("G", {})
    return Scope({**held, **frame.f_locals, "L": frame.f_locals, "G": globals_})


def translate_guard(text: str, arguments: tuple[str, ...]) -> str:
    """A guard as its user writes it: modules and parameters by the names of their attributes.

    Of a wrapper in the names of what it wraps: `args[0]` is its first argument. Torch's own wrapper
    calls what it wraps `fn`.
    """

    def name(match: re.Match[str]) -> str:
        at = int(match[1])
        return arguments[at] if at < len(arguments) else match[0]

    named = text
    if arguments:
        named = re.sub(r"\bargs\[(\d+)\]", name, named)
        named = re.sub(r"\bkwargs\['(\w+)'\]", r"\1", named)
        named = re.sub(r"\bfn(?=[.\[])", "self", named)
    named = re.sub(r"\._modules\['(\d+)'\]", r"[\1]", named)
    return re.sub(r"\._(?:modules|parameters|buffers)\['(\w+)'\]", r".\1", named)


def find_failed_guards(entry: Any, scope: Scope) -> list[str]:
    """The guards of a variant on tensors, values and objects that do not hold, in torch's words."""
    guards: dict[str, None] = {}
    for part in _guard_parts(entry.guard_manager):
        for text in _failed(part, scope):
            guards.setdefault(_LOCAL.sub(r"\1", text))
        if len(guards) >= MOST:
            break
    return list(guards)


def read_actual_value(source: str, scope: Scope) -> str:
    """What a guard's source is now: a plain value as Python writes it, of others the kind."""
    value = scope.read(source)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, torch.Tensor):
        return "a tensor"
    if isinstance(value, Enum):
        return str(value)
    is_plain = isinstance(value, str | bool | int | float | torch.dtype | torch.device)
    return repr(value) if is_plain and len(repr(value)) <= 80 else ""


def is_fixed(manager: Any, source: str, arguments: tuple[str, ...]) -> bool:
    """Whether the guards of a variant want one size or number at a source, in its user's names."""
    for part in _guard_parts(manager):
        plain = translate_guard(_LOCAL.sub(r"\1", part), arguments)
        if plain.startswith(f"{source} == "):
            return True
        if (match := _TENSOR.match(plain)) and source.startswith(f"{match['source']}.size()["):
            at = int(source[len(match["source"]) + len(".size()[") : -1])
            sizes = _numbers(match["size"])
            return at < len(sizes) and sizes[at] is not None
    return False


def _guard_parts(manager: Any) -> Iterator[str]:
    """What a variant wants, as torch writes it; what it asks of symbols stands apart."""
    yield from map(str, getattr(manager, "code_parts", ()))
    of_symbols = getattr(getattr(manager, "root", None), "get_epilogue_lambda_guards", None)
    for guard in () if of_symbols is None else of_symbols():
        yield from (str(part).partition("  # ")[0].strip() for part in guard.verbose_code_parts())


def _failed(part: str, scope: Scope) -> Iterator[str]:
    if match := _TENSOR.match(part):
        value = scope.read(match["source"])
        if isinstance(value, torch.Tensor) and value.layout == torch.strided:
            yield from _of_tensor(match, value)
    elif match := _VALUE.match(part):
        if scope.read(part) is False:
            yield part
    # torch writes the class of what it wants behind the call
    elif _OBJECT.match(part) and scope.read(part.partition("), ")[0].rstrip(")") + ")") is False:
        yield part


def _of_tensor(match: re.Match[str], value: torch.Tensor) -> Iterator[str]:
    source = match["source"]
    start = f"tensor '{source}' "
    if match["dtype"] not in ("None", str(value.dtype)):
        wanted_type, own_type = (
            str(name).removeprefix("torch.") for name in (match["dtype"], value.dtype)
        )
        yield f"{start}dtype mismatch. expected {wanted_type}, actual {own_type}"
    if (match["grad"] == "True") is not value.requires_grad:
        yield f"{start}requires_grad mismatch. expected requires_grad={match['grad'] == 'True':d}"
    sizes, strides = _numbers(match["size"]), _numbers(match["stride"])
    if len(sizes) != value.dim():
        yield f"{start}rank mismatch. expected {len(sizes)}, actual {value.dim()}"
        return
    is_sized = False
    for at, (wanted, own) in enumerate(zip(sizes, value.shape, strict=True)):
        if wanted is None and own < 2:
            yield f"2 <= {source}.size()[{at}]"
        elif wanted is not None and wanted != own:
            is_sized = True
            yield f"{start}size mismatch at index {at}. expected {wanted}, actual {own}"
    if is_sized:  # another size has other strides
        return
    for at, (wanted, own) in enumerate(zip(strides, value.stride(), strict=True)):
        if wanted is not None and wanted != own:
            yield f"{start}stride mismatch at index {at}. expected {wanted}, actual {own}"


def _numbers(text: str) -> list[int | None]:
    """`4, None` as numbers; None is a size that may be any."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [int(part) if part.lstrip("-").isdigit() else None for part in parts]
