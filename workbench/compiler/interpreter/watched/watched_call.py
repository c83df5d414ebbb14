"""What is asked of the interpreter about one call of a kernel, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.compiler.interpreter.watched.access_log import Access as Access
from workbench.compiler.interpreter.watched.access_log import AccessLog as AccessLog
from workbench.compiler.interpreter.watched.access_log import Held as Held
from workbench.compiler.interpreter.watched.access_log import Kind as Kind
from workbench.compiler.interpreter.watched.access_log import Place as Place
from workbench.compiler.interpreter.watched.access_log import list_grains as list_grains
from workbench.processes.shipping.caller_context import CallerContext


@dataclass(frozen=True)
class Watch:
    """Run the call that is packed in a folder, and watch it.

    `fresh` names arguments whose content nobody wrote, `sample` is the most programs that are run,
    `seconds` the most time that it may take.
    """

    folder: str
    context: CallerContext
    fresh: tuple[str, ...] = ()
    sample: int | None = None
    seconds: float = 60.0


@dataclass(frozen=True)
class Fault:
    """One kind of fault of one line and argument: the first of `count` places.

    `place` and `other_place` are numbers of places of the log, `offset` is in bytes behind the
    first element of the argument, programs are counted along the axes of the grid. "not judged" has
    a reason as `text`.
    """

    kind: str
    place: int
    argument: str
    does: str
    offset: int
    program: int
    lane: tuple[int, ...] = ()
    other_place: int = -1
    other_program: int = -1
    other_lane: tuple[int, ...] = ()
    count: int = 1
    programs: tuple[int, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Watched:
    """What a run under watch showed.

    `values` are the bytes of each argument that was written to, from its first element on, and
    `written` which of its elements a plain write reached, where a sample ran. `stopped` says why
    the run did not come to its end, at the place `stopped_place` of the log, -1 where it is not
    known; `unjudged` what cannot be judged, by kind. With `has_strays` it reached what no argument
    leads to, and read zeros there.
    """

    log: AccessLog
    faults: tuple[Fault, ...]
    values: Mapping[str, bytes] = field(default_factory=dict)
    written: Mapping[str, Any] = field(default_factory=dict)
    stopped: str = ""
    stopped_kind: str = ""
    stopped_place: int = -1
    unjudged: Mapping[str, str] = field(default_factory=dict)
    ask_fresh: tuple[str, ...] = ()
    seconds: float = 0.0
    has_strays: bool = False

    def explain_stop(self, line: int) -> str:
        """Why the run did not come to its end, in words, with the line it was in, 0 for none."""
        where = f"line {line}" if line else "the kernel"
        if self.stopped_kind == "time":
            return f"{self.stopped}, in {where}; a higher time_limit= lets it run longer"
        if self.stopped_kind == "assertion":
            return f"Assertion: {where} has a failing assertion ({self.stopped})"
        if self.stopped_kind == "out of bounds":
            return f"Out of bounds: in {where} {self.stopped}"
        if self.stopped_kind == "not interpreted":
            return f"{where} needs a feature that the interpreter lacks ({self.stopped})"
        return f"the run stopped in {where} ({self.stopped})"
