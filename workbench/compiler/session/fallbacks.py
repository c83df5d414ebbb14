"""Frames that run as plain Python from some call on, and what they were called since."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import CodeType, FrameType
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.session.compiles import Compiles
from workbench.compiler.session.frame_names import Frame, find_calling_frame, frame_of, is_users
from workbench.compiler.session.lookups import LookUps
from workbench.compiler.session.open_compile import OpenCompile
from workbench.compiler.session.steps import Steps
from workbench.report.session.session_rows import NO_GENERATOR, Fallback

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
