"""What Dynamo says in texts of its own: graph breaks, trees of guards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from workbench.compiler.recording.guards import code_of
from workbench.compiler.sources.break_messages import ANOTHER, IN_LOOP, LOOP_HINT, break_message
from workbench.report import Break, Guard
from workbench.trace_logs.content import LogContent
from workbench.trace_logs.source_places import LogPlaces, frames_of

_REASON = "Graph Break Reason: "
_USER_CODE = re.compile(r"\n(?:User code traceback|from user code):\n")
_INTERNAL = re.compile(r"\nTraceback \(most recent call last\):\n|\nStack variable source attr")
_UNSUPPORTED = re.compile(r"\n(?:\w+\.)+exc\.(?:Unsupported|UserError|\w*GraphBreak\w*): ")
_AT = re.compile(r"Graph break in user code at (.+):(\d+)")
_STEP = re.compile(r"^\S[^\n]*:\n\n+")  # what Dynamo was doing, before the message itself
_LINE = re.compile(r"^([| ]*)\+- (\w+)(?:: (.*))?$")
_MANAGER = re.compile(r"source=(.*?), (?:accessed_by|type)=")
_COMMENT = re.compile(r"\s+# (?:(.*?)\s+# )?(\S+):(\d+) in \S+\s*$")
_THREADS = re.compile(r'"num_threads":(\d+)')
Resolve = Callable[[str], str | None]
"""Names the file of a report that a shortened path ends, or None."""


class BreakReader:
    """Collects the breaks of several logs; one that is met again is counted."""

    def __init__(self) -> None:
        self._met: dict[tuple[str, int, str], Break] = {}

    def read(self, content: LogContent, places: LogPlaces) -> None:
        """Take the breaks of one log."""
        for piece in content.breaks:
            text = piece.text()
            head, _, message = text.partition(_REASON)
            self._take(_message(message or text), text, places, _AT.search(head))
        for piece in content.failures():
            text = piece.text()
            found = _UNSUPPORTED.search(text)
            if found is not None:
                self._take(text[found.end() :], text[found.end() :], places, None)

    def rows(self) -> list[Break]:
        """The breaks in the order in which they were met."""
        return list(self._met.values())

    def _take(self, message: str, text: str, places: LogPlaces, at: re.Match[str] | None) -> None:
        cause, _, rest = message.partition(ANOTHER)
        parts = break_message(_USER_CODE.split(cause)[0])
        file, line, function, code = _place(text, places, at)
        key = file, line, parts.kind
        if key in self._met:
            met = self._met[key]
            self._met[key] = replace(met, count=met.count + 1)
            return
        hints = [*parts.hints, *([LOOP_HINT] if IN_LOOP in rest else [])]
        self._met[key] = Break(
            id=f"b{len(self._met)}",
            file=file,
            line=line,
            function=function,
            text=code,
            kind=parts.kind,
            gb_id=parts.gb_id,
            reason=places.shared(parts.reason or parts.kind),
            explanation=places.shared(parts.explanation),
            hints=tuple(places.shared(hint) for hint in hints),
        )


def _message(text: str) -> str:
    """Torch's message about the break, without what Dynamo says of its own doings."""
    text = _INTERNAL.split(text)[0]
    while (step := _STEP.match(text)) is not None and "Explanation: " not in step[0]:
        text = text[step.end() :]
    return text


def _place(text: str, places: LogPlaces, at: re.Match[str] | None) -> tuple[str, int, str, str]:
    """File, line, function and text of the innermost user line."""
    stack = _USER_CODE.split(text, maxsplit=1)[1:]
    frames = frames_of(_INTERNAL.split(stack[0])[0]) if stack else []
    mine = [found for found in frames if places.is_user(found[0].file)] or frames
    if mine:
        frame, code = mine[-1]
        places.note(frame.file, frame.line, frame.function, code)
        return places.shown(frame.file), frame.line, frame.function, code
    if at is not None:
        return places.shown(at[1]), int(at[2]), "", ""
    return "", 0, "", ""


def functions(contents: Iterable[LogContent]) -> dict[tuple[str, str], str]:
    """The function of each compilation, by the label of its log and its id."""
    found: dict[tuple[str, str], str] = {}
    for content in contents:
        for compile_id, stack in content.starts.items():
            if stack:
                found[content.label, compile_id] = str(stack[-1].get("name", ""))
        for owner, row in content.metrics:
            if owner is not None and row.get("co_name"):
                found[content.label, owner] = str(row["co_name"])
    return found


def guards(text: str, first: int, resolve: Resolve) -> Iterator[Guard]:
    """The leaves of a tree of guards; ids count from `first`."""
    sources: list[tuple[int, str]] = []
    number = first
    for line in text.split("\n"):
        found = _LINE.match(line)
        if found is None:
            continue
        depth, kind, rest = len(found[1]), found[2], found[3] or ""
        while sources and sources[-1][0] >= depth:
            sources.pop()
        if kind.endswith("Manager"):
            source = _MANAGER.search(rest)
            sources.append((depth, source[1] if source else ""))
            continue
        yield _leaf(f"q{number}", kind, rest, sources[-1][1] if sources else "", resolve)
        number += 1


def _leaf(id: str, kind: str, text: str, source: str, resolve: Resolve) -> Guard:
    place = _COMMENT.search(text)
    code = text if place is None else text[: place.start()]
    file = None if place is None else resolve(place[2])
    line = None if place is None or file is None else int(place[3])
    is_global = source.startswith("G") or not source
    return Guard(id, True, kind, source, code_of([code]), None, is_global, file, line)


def threads(text: str) -> int:
    """Torch's intra-op thread count when the guards were made; 0 when they do not say."""
    found = _THREADS.search(text)
    return int(found[1]) if found else 0
