"""Frames that run as plain Python from some call on, and what they were called since."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.session.compiles import Compiles
from workbench.compiler.session.frames import Frame, frame_of
from workbench.compiler.session.open_compile import OpenCompile
from workbench.compiler.session.steps import Steps
from workbench.report.session.rows import Fallback

PANE = "fallbacks"
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
        self._misses = self._attempts = 0
        self._is_counting = False

    def install(self) -> None:
        """Watch attempts until the patches are undone."""
        self._compiles.on_failure = self.take
        self._patches.wrap(tp.ATTEMPT_FRAME, self._attempted, PANE, is_everywhere=True)

    def take(self, code: CodeType, row: OpenCompile, text: str) -> None:
        """A compile failed: its frame runs eagerly, or its new variants do."""
        if row.outcome == "limit":
            last = f"{text.rstrip('.')}. Last: {row.why}" if row.why else text
            self._add(code, _frame_of(row), row.id, "new variants", last)
            self._count()
        else:
            self._add(code, _frame_of(row), row.id, "always", text)

    def _attempted(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(wrapper: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
            self._attempts += 1
            before = len(self._compiles.found)
            try:
                result = inner(wrapper, frame, *args, **kwargs)
            except BaseException:
                self._raised(frame.f_code)
                raise
            why = getattr(result, "skip_reason", None)
            code = frame.f_code
            is_generator = code.co_flags & inspect.CO_GENERATOR  # sympy's come by dozens
            is_quiet = any(word in str(why) for word in _QUIET) or is_generator
            if why and len(self._compiles.found) == before and not is_quiet:
                self._add(code, frame_of(code), "", "always", str(why))
            return result

        return attempt

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

    def _count(self) -> None:
        """From now on count calls that find no variant; torch does not say of which frame."""
        setter = tp.GUARD_COMPLETE_HOOK.find()
        if setter is None or self._is_counting:
            return
        self._is_counting = True
        self._attempts = 0

        def looked(is_found: bool) -> bool:
            self._misses += not is_found
            return is_found if before is None else bool(before(is_found))

        before = setter(looked)
        self._patches.callback(setter, before)

    def rows(self) -> list[Fallback]:
        """A row for each frame, in the order in which they were given up."""
        fallen = list(self._fallen.values())
        limited = [one for one in fallen if one.how == "new variants"]
        calls = max(0, self._misses - self._attempts) if len(limited) == 1 else None
        return [
            Fallback(
                one.frame.function,
                self._compiles.places.shown(one.frame.file),
                one.frame.line,
                one.compile_id,
                one.step,
                one.how,
                one.why,
                calls if self._is_counting and one in limited else None,
            )
            for one in fallen
        ]


def _frame_of(row: OpenCompile) -> Frame:
    return Frame(row.function, row.file, row.line)
