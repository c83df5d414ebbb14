"""Frames that run as plain Python from some call on, and what they were called since."""

from __future__ import annotations

import inspect
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import CodeType, FrameType
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.report.program.record_rows import Fallback
from workbench.worlds.sessions.recording.compiles import Compiles
from workbench.worlds.sessions.recording.frame_names import (
    Frame,
    find_calling_frame,
    frame_of,
    is_users,
)
from workbench.worlds.sessions.recording.open_compile import OpenCompile
from workbench.worlds.sessions.recording.steps import Steps
from workbench.worlds.sessions.rows.session_rows import NO_GENERATOR

PANE = "fallbacks"
_CALLS_MODULE, _CALLS_COMPILED = "_call_impl", "compile_wrapper"
_SKIPPED = "skipfiles"
_QUIET = ("skipfiles", "no tensor", "Dynamo-generated", "already started", "__", "namedtuple")


@dataclass
class _Fallen:
    frame: Frame
    compile_id: str
    step: int
    how: str
    why: str


class Fallbacks:
    """Frames that Dynamo gave up, with the calls since that found no compiled variant."""

    def __init__(self, patches: Patches, steps: Steps, compiles: Compiles):
        self._patches, self._steps, self._compiles = patches, steps, compiles
        self._fallen: dict[CodeType, _Fallen] = {}
        self.lookups = LookUps(patches)
        self.left_alone: dict[str, None] = {}

    def install(self) -> None:
        """Watch attempts until the patches are undone."""
        self._compiles.on_failure = self.take
        self.lookups.install()
        self._patches.wrap(tp.ATTEMPT_FRAME, self._attempted, PANE, is_everywhere=True)

    def take(self, code: CodeType, row: OpenCompile, text: str) -> None:
        """A compile failed: its frame runs eagerly, or its new variants do."""
        if row.outcome == "limit":
            last = f"{text.rstrip('.')}. Last: {row.why}" if row.why else text
            self._add(code, _frame_of(row), row.id, "new variants", last)
            self.lookups.limited(code)
        else:
            self._add(code, _frame_of(row), row.id, "always", text)

    def _attempted(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(wrapper: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
            self._patches.guarded(PANE, self.lookups.attempted, frame.f_code, sys._getframe(1))
            before = len(self._compiles.found)
            try:
                result = inner(wrapper, frame, *args, **kwargs)
            except BaseException:
                self._raised(frame.f_code)
                raise
            why = getattr(result, "skip_reason", None)
            code = frame.f_code
            if why and _SKIPPED in str(why):
                self._patches.guarded(PANE, self._left, frame, sys._getframe(1))
            is_generator = bool(code.co_flags & inspect.CO_GENERATOR)
            is_quiet = any(word in str(why) for word in _QUIET) or (
                # sympy's come by dozens, and so do expressions of generators
                is_generator and not self._is_own_function(code)
            )
            if why and len(self._compiles.found) == before and not is_quiet:
                text = NO_GENERATOR if is_generator else str(why)
                self._add(code, self._placed(frame_of(code)), "", "always", text)
            return result

        return attempt

    def _is_own_function(self, code: CodeType) -> bool:
        """Whether it is a function of the user's, in a file or a cell."""
        return self._compiles.places.is_own(code.co_filename) and code.co_name[0] != "<"

    def _left(self, frame: Any, caller: FrameType) -> None:
        """Torch compiles no frame of its own: `compile()` of a module of torch.nn asks for none."""
        module = frame.f_locals.get("self")
        is_asked = caller.f_code.co_name == _CALLS_COMPILED
        if frame.f_code.co_name != _CALLS_MODULE or module is None or not is_asked:
            return
        forward = getattr(getattr(type(module), "forward", None), "__code__", None)
        if forward is not None and not self._compiles.places.is_user(forward.co_filename):
            self.left_alone[type(module).__name__] = None

    def _placed(self, frame: Frame) -> Frame:
        """A frame of torch's at the line of the user's that led there."""
        if is_users(self._compiles.places, frame.file):
            return frame
        at = find_calling_frame(self._compiles.places)
        return frame if at is None else replace(frame, file=at.file, line=at.line)

    def _raised(self, code: CodeType) -> None:
        """The program got the error of its compile: nothing runs eagerly for it."""
        fallen = self._fallen.pop(code, None)
        row = self._compiles.of(fallen.compile_id) if fallen else None
        if row is not None:
            row.outcome = "error"
            self._steps.forget("fallback", row.id)

    def _add(self, code: CodeType, frame: Frame, compile_id: str, how: str, why: str) -> None:
        if code not in self._fallen:
            self._fallen[code] = _Fallen(frame, compile_id, self._steps.number, how, why)
            self._steps.event("fallback", compile_id, frame.function, f"{how}: {why}")

    def rows(self) -> list[Fallback]:
        """A row for each frame, in the order in which they were given up."""
        return [
            Fallback(
                one.frame.function,
                self._compiles.places.shown(one.frame.file),
                one.frame.line,
                one.compile_id,
                one.step,
                one.how,
                one.why,
                self.lookups.eager_calls(code) if one.how == "new variants" else None,
            )
            for code, one in list(self._fallen.items())
        ]


def _frame_of(row: OpenCompile) -> Frame:
    return Frame(row.function, row.file, row.line)


LOOKUPS_PANE = "look-ups"
_GRAPH = "__compiled_fn"  # how Dynamo's code calls a graph
_CALLED = {"compile_wrapper": "fn", "_call_impl": "forward_call"}
"""Functions of torch that call what is looked up, by the name that they have for it."""
_MOST_UNTOLD = (
    64  # calls of what cannot be told before that is given up: a look costs a microsecond
)
_Site = tuple[CodeType, int]


class LookUps:
    """Counts the calls that found no variant and were not compiled either, by their code.

    Torch tells only that a look-up went well or not. A miss that Dynamo tries to compile next is no
    eager call. Of any other the line that called it tells the frame: the only one that was tried
    there, or what torch's own caller holds. Where neither tells, nothing is counted for certain.
    """

    def __init__(self, patches: Patches):
        self._patches = patches
        self._sites: dict[_Site, set[CodeType]] = {}
        self._open: dict[int, tuple[_Site, CodeType | None]] = {}
        self._missed: Counter[CodeType | None] = Counter()
        self._limited: set[CodeType] = set()
        self._seen: set[CodeType] = set()
        self._is_whole = False
        self._untold = 0
        self.ran_graph: bool | None = None
        """Whether a compiled graph was called; None where a call could not be told."""

    def install(self) -> None:
        """Watch look-ups until the patches are undone."""
        setter = tp.GUARD_COMPLETE_HOOK.find()
        if setter is None:
            return
        self._is_whole, self.ran_graph = True, False

        def looked(is_found: bool) -> bool:
            if is_found:
                if (not self.ran_graph and self._untold < _MOST_UNTOLD) or self._open:
                    self._patches.guarded(LOOKUPS_PANE, self._hit, sys._getframe(1))
            elif self._limited:
                self._patches.guarded(LOOKUPS_PANE, self._miss, sys._getframe(1))
            return is_found if before is None else bool(before(is_found))

        before = setter(looked)
        self._patches.callback(setter, before)

    def attempted(self, code: CodeType, caller: FrameType) -> None:
        """Dynamo tries a frame: the miss before was the first half of that."""
        site = (caller.f_code, caller.f_lasti)
        self._sites.setdefault(site, set()).add(code)
        thread = threading.get_ident()
        # one line may call several functions: the miss of another one was an eager call
        is_site = thread in self._open and self._open[thread][0] == site
        if is_site and self._open[thread][1] in (None, code):
            del self._open[thread]
        self._settle(thread)

    def limited(self, code: CodeType) -> None:
        """A frame gets no further variant; the call that asked for one runs eagerly too."""
        self._limited.add(code)
        self._missed[code] += 1

    def _hit(self, caller: FrameType) -> None:
        self._settle(threading.get_ident())
        if self.ran_graph:
            return
        code = self._called(caller)
        if code is None:
            self.ran_graph = None
            self._untold += 1
        elif code not in self._seen:
            self._seen.add(code)
            find = tp.CACHE_ENTRIES.find()
            entries: Iterable[Any] = () if find is None else find(code)
            names = (name for entry in entries for name in entry.code.co_names)
            if any(name.startswith(_GRAPH) for name in names):
                self.ran_graph = True

    def _miss(self, caller: FrameType) -> None:
        thread = threading.get_ident()
        self._settle(thread)
        self._open[thread] = (caller.f_code, caller.f_lasti), self._called(caller)

    def _settle(self, thread: int) -> None:
        """A miss that nothing was tried after was an eager call."""
        miss = self._open.pop(thread, None)
        if miss is not None:
            self._missed[miss[1]] += 1

    def _called(self, caller: FrameType) -> CodeType | None:
        held = _CALLED.get(caller.f_code.co_name)
        if held is not None and held in caller.f_locals:
            function = caller.f_locals[held]
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            return code if isinstance(code, CodeType) else None
        tried = self._sites.get((caller.f_code, caller.f_lasti), set())
        return next(iter(tried)) if len(tried) == 1 else None

    def eager_calls(self, code: CodeType) -> int | None:
        """Calls of a limited frame that ran eagerly; None where not every one could be told."""
        missed = Counter(self._missed)
        missed.update(called for _, called in list(self._open.values()))
        return missed[code] if self._is_whole and not missed[None] else None
