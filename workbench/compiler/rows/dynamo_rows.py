"""Graph breaks, recompilations, guards and the answers of caches, from torch's words for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.compiler.sources.dynamo_messages import (
    ANOTHER,
    IN_LOOP,
    RESUMED,
    BreakMessage,
    GuardTexts,
    parse_break_message,
    recompile_reasons,
    strip_reason,
)
from workbench.compiler.sources.sources import Frame, TracedFiles, qualify
from workbench.report import Break, CacheEvent, Guard, Recompile
from workbench.report.rows import LOOP_HINT

CACHE_RECORDS = {
    f"{record}_{outcome}": (cache, outcome)
    for record, cache in (
        ("fx_graph_cache", "FX graph cache"),
        ("aotautograd_cache", "AOTAutograd cache"),
    )
    for outcome in ("hit", "miss", "bypass")
}
"""The records of torch's caches: which cache, and its answer."""
BreakKey = tuple[str, int, str]
"""File, line and kind: a break that is met again there is counted."""
_ROOT = re.compile(r"\b([GL])(?=\[|$)")
"""How torch writes the globals and the locals of a frame."""


def read_cache_event(record: str, data: dict[str, Any]) -> CacheEvent:
    """What a cache answered, from a record of torch's."""
    cache, outcome = CACHE_RECORDS[record]
    key = data.get("key") or data.get("cache_key")
    reason = data.get("cache_bypass_reason") or data.get("cache_bypass_exception_type")
    why = None if reason is None else str(reason)
    return CacheEvent(cache, outcome, None if key is None else str(key), why)


def list_recompiles(
    payload: str, compile_id: str, function: str, shared: Callable[[str], str]
) -> Iterator[Recompile]:
    """A row for each guard that failed, from torch's reasons for one more compilation."""
    for reason in recompile_reasons(payload):
        yield Recompile(compile_id, function, shared(strip_reason(reason)))


def name_function(places: TracedFiles, frame: Frame) -> str:
    """The user's name of the function of a frame, with the classes that it is in."""
    match = RESUMED.match(frame.function)
    function = match[1] if match else frame.function
    return qualify(places.lines_of(frame.file), function, frame.line)


def read_break(message: str) -> tuple[BreakMessage, bool]:
    """The parts of Dynamo's message about a break, and whether it gives the function up."""
    cause, _, rest = message.partition(ANOTHER)
    parts = parse_break_message(cause)
    if is_given_up := IN_LOOP in rest:
        parts.hints.append(LOOP_HINT)
    return parts, is_given_up


@dataclass
class BreakTable:
    """The breaks of a report, in the order in which they were met."""

    counts: Counter[BreakKey] = field(default_factory=Counter)
    _met: dict[BreakKey, tuple[TracedFiles, Frame, Break]] = field(default_factory=dict)

    def add(
        self,
        places: TracedFiles,
        frame: Frame,
        text: str,
        parts: BreakMessage,
        named: Callable[[str], str] = str,
    ) -> None:
        """Add a break on a line whose code is `text`; `named` puts sizes in place of symbols."""
        key = frame.file, frame.line, parts.kind
        self.counts[key] += 1
        if key in self._met:
            return
        row = Break(
            id=f"b{len(self._met)}",
            file=places.shown(frame.file),
            line=frame.line,
            function=frame.function,
            text=text,
            kind=parts.kind,
            gb_id=parts.gb_id,
            reason=named(places.shared(parts.reason or parts.kind)),
            explanation=named(places.shared(parts.explanation)),
            hints=tuple(places.shared(hint) for hint in parts.hints),
        )
        self._met[key] = places, frame, row

    def merge(self, other: BreakTable) -> Sequence[Frame]:
        """Add the breaks that another table alone has, each once; their places."""
        added = []
        for key, (places, frame, row) in other._met.items():
            if key not in self._met:
                self._met[key] = places, frame, replace(row, id=f"b{len(self._met)}")
                self.counts[key] = 1
                added.append(frame)
        return added

    def rows(self) -> list[Break]:
        """The breaks with their counts; functions have the names of their classes."""
        return [
            replace(row, function=name_function(places, frame), count=self.counts[key])
            for key, (places, frame, row) in list(self._met.items())
        ]


@dataclass(frozen=True)
class SeenGuard:
    """A guard in torch's words: `source` is what it looks at, `checks` its code.

    `file` is as the report shows it. `why_dropped` is there for one that is not kept.
    """

    kind: str
    source: str
    checks: Sequence[str] = ()
    file: str | None = None
    line: int | None = None
    why_dropped: str | None = None
    frozen: str | None = None


def list_guards(seen: Iterable[SeenGuard], texts: GuardTexts | None = None) -> list[Guard]:
    """The guards as rows, in their order."""
    written = texts or GuardTexts()
    return [
        Guard(
            id=f"q{number}",
            kept=guard.why_dropped is None,
            kind=guard.kind,
            source=guard.source,
            code=written.of(guard.checks),
            why_dropped=guard.why_dropped,
            is_global=_is_global(guard.source),
            file=guard.file,
            line=guard.line,
            frozen=guard.frozen,
        )
        for number, guard in enumerate(seen)
    ]


def _is_global(source: str) -> bool:
    """Whether a source leads from a global: what stands innermost in it comes first."""
    root = _ROOT.search(source)
    return root is not None and root[1] == "G"
