"""Graph breaks, read from the texts of their records and from errors that ended a capture."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from workbench.compiler.sources.break_messages import ANOTHER, IN_LOOP, LOOP_HINT, break_message
from workbench.report import Break
from workbench.trace_logs.content import LogContent
from workbench.trace_logs.source_places import LogPlaces, frames_of

_REASON = "Graph Break Reason: "
_USER_CODE = re.compile(r"\n(?:User code traceback|from user code):\n")
_INTERNAL = re.compile(r"\nTraceback \(most recent call last\):\n|\nStack variable source attr")
_UNSUPPORTED = re.compile(r"\n(?:\w+\.)+exc\.(?:Unsupported|UserError|\w*GraphBreak\w*): ")
_AT = re.compile(r"Graph break in user code at (.+):(\d+)")
_STEP = re.compile(r"^\S[^\n]*:\n\n+")  # what Dynamo was doing, before the message itself


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
