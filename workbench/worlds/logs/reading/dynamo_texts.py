"""What Dynamo says in texts of its own: graph breaks, trees of guards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from workbench.compiler.rows.dynamo_rows import (
    BreakTable,
    SeenGuard,
    name_function,
    read_break,
)
from workbench.compiler.sources.dynamo_messages import (
    ANOTHER,
    BreakMessage,
    parse_data_break,
)
from workbench.compiler.sources.size_symbols import SizeSymbols, describe_line, find_undecided
from workbench.compiler.sources.sources import Frame
from workbench.worlds.logs.reading.content import LogContent
from workbench.worlds.logs.reading.source_places import LogPlaces, named, parse_frames

_REASON = "Graph Break Reason: "
_USER_CODE = re.compile(r"\n(?:User code traceback|from user code):\n")
_INTERNAL = re.compile(r"\nTraceback \(most recent call last\):\n|\nStack variable source attr")
_UNSUPPORTED = re.compile(r"\n(?:\w+\.)+exc\.(?:Unsupported|UserError|\w*GraphBreak\w*): ")
_AT = re.compile(r"Graph break in user code at (.+):(\d+)")
_STEP = re.compile(r"^\S[^\n]*:\n\n+")  # what Dynamo was doing, before the message itself
_LINE = re.compile(r"^([| ]*)\+- (\w+)(?:: (.*))?$")
_TENSOR = "TENSOR_MATCH"
_MARKS = "DIMENSION_DYNAMIC_MARKING_GUARD"  # leaves that the guard of a tensor makes beside its own
_MANAGER = re.compile(r"source=(.*?), (?:accessed_by|type)=")
_COMMENT = re.compile(r"\s+# (?:(.*?)\s+# )?(\S+):(\d+) in \S+\s*$")
_THREADS = re.compile(r'"num_threads":(\d+)')
_FILE = re.compile(r"# File: (.+?):(\d+) in (\w+), code: (.*)")
_FROM_DATA = re.compile(r':\s*"Sym\((?=[^"]*\bz?u\d)([^"]+)\)" = ')
_UNBACKED = re.compile(r"z?u[f]?\d+")
Resolve = Callable[[str], str | None]
"""Names the file of a report that a shortened path ends, or None."""


Namer = Callable[[str], str]
"""Puts sizes in place of the symbols of one compilation."""


class Place(NamedTuple):
    """A line of the user: the file as the log names it, the line, what it says."""

    frame: Frame
    text: str

    def describe(self, places: LogPlaces) -> str:
        """The line as a message names it; empty where there is none."""
        frame = self.frame
        return f"{places.shown(frame.file)}:{frame.line}" if frame.file else ""


_NOWHERE = Place(Frame("", 0, ""), "")


class BreakReader:
    """Collects the breaks of several logs; one that is met again is counted."""

    def __init__(self) -> None:
        self._table = BreakTable()
        self.rows = self._table.rows

    def read(self, content: LogContent, places: LogPlaces) -> None:
        """Take the breaks of one log."""
        sizes = read_sizes(content, places)
        for piece in content.breaks:
            text = piece.text()
            head, _, message = text.partition(_REASON)
            place = _place(text, places, _AT.search(head))
            self._take(_message(message or text), place, places, _namer(sizes, piece.compile_id))
        for piece in content.failures():
            text = piece.text()
            match = _UNSUPPORTED.search(text)
            if match is not None:
                text = text[match.end() :]
                place = _place(text, places, None)
                self._take(text, place, places, _namer(sizes, piece.compile_id))
        for stop in export_stops(content, places):
            if stop.parts is not None:
                self._table.add(places, *stop.place, stop.parts)

    def _take(self, message: str, place: Place, places: LogPlaces, namer: Namer) -> None:
        parts, _ = read_break(_without_stack(message))
        self._table.add(places, *place, parts, namer)


def _without_stack(message: str) -> str:
    """A message without the user's stack, which may stand before that of another break."""
    cause, mark, rest = message.partition(ANOTHER)
    return _USER_CODE.split(cause)[0] + mark + rest


def _message(text: str) -> str:
    """Torch's message about the break, without what Dynamo says of its own doings."""
    text = _INTERNAL.split(text)[0]
    while (step := _STEP.match(text)) is not None and "Explanation: " not in step[0]:
        text = text[step.end() :]
    return text


def _namer(sizes: SizeSymbols, compile_id: str | None) -> Namer:
    return lambda text: sizes.named(text, compile_id)


def read_sizes(content: LogContent, places: LogPlaces) -> SizeSymbols:
    """What the symbols of a log's compilations stand for."""
    sizes = SizeSymbols(
        lambda stack: describe_line(content.strings, stack, places.shown, places.is_user)
    )
    for kind, compile_id, meta in content.symbols:
        sizes.take(kind, meta, compile_id)
    return sizes


@dataclass(frozen=True)
class ExportStop:
    """Where an export ended that raised; `parts` are there for what depends on data."""

    text: str
    place: Place
    parts: BreakMessage | None


def export_stops(content: LogContent, places: LogPlaces) -> Iterator[ExportStop]:
    """The captures of a log that raised outside of a compilation.

    A capture that traces functions logs no error, only the graph until then; one that begins with
    Dynamo logs why it failed without the compilation.
    """
    sizes = read_sizes(content, places)
    for piece in content.partial:
        if piece.compile_id is None:  # within a compilation its error is told, or was caught
            yield _stop_of(piece.text(), sizes, places)
    for compile_id, row in content.metrics:
        if compile_id is None and row.get("fail_type") and row["fail_type"] != "Unsupported":
            yield _failed_export(row, sizes, places)


def _failed_export(row: Mapping[str, Any], sizes: SizeSymbols, places: LogPlaces) -> ExportStop:
    message = str(row.get("fail_reason", ""))
    frames = [(frame, text) for frame, text in parse_frames(message) if places.is_user(frame.file)]
    place = _NOWHERE
    if frames:
        place = Place(*frames[-1])
        places.note_frame(*place)
    where = f' at {place.describe(places)}: "{place.text}"' if frames else ""
    parts = parse_data_break(*condition) if (condition := find_undecided(message)) else None
    sized = _in_sizes(parts, sizes) if parts is not None else None
    shown = sized.reason if sized is not None else sizes.named(_USER_CODE.split(message)[0].strip())
    return ExportStop(f"{row['fail_type']}{where}: {places.shared(shown)}", place, sized)


def _stop_of(graph: str, sizes: SizeSymbols, places: LogPlaces) -> ExportStop:
    """Where it ended, by the last lines of the graph until then."""
    lines = [line.strip() for line in graph.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if " = " in line), "its beginning")
    at = next((m for line in reversed(lines) if (m := _FILE.match(line))), None)
    frame = Frame(at[1], int(at[2]), named(at[3])) if at else _NOWHERE.frame
    place = Place(frame, at[4].strip() if at else "")
    head = f"{place.describe(places)} in {frame.function}: " if at else ""
    match = _FROM_DATA.search(last)
    if match is None:
        shown = f'"{place.text}": {last}' if at else last
        ending = f"{head}{sizes.named(shown)}; the log does not contain the error"
        return ExportStop(f"the capture raised an error after {ending}", place, None)
    if at:
        places.note_frame(*place)
    parts = _in_sizes(parse_data_break(match[1], _UNBACKED.fullmatch(match[1]) is not None), sizes)
    return ExportStop(f'{head}"{place.text}": {parts.reason}', place, parts)


def _in_sizes(parts: BreakMessage, sizes: SizeSymbols) -> BreakMessage:
    return replace(parts, reason=sizes.named(parts.reason))


def _place(text: str, places: LogPlaces, at: re.Match[str] | None) -> Place:
    """File, line, function and text of the innermost user line."""
    stack = _USER_CODE.split(text, maxsplit=1)[1:]
    frames = parse_frames(_INTERNAL.split(stack[0])[0]) if stack else []
    mine = [entry for entry in frames if places.is_user(entry[0].file)] or frames
    if mine:
        place = Place(*mine[-1])
        places.note_frame(*place)
        return place
    if at is not None:
        return Place(Frame(at[1], int(at[2]), ""), "")
    return _NOWHERE


def functions(contents: Iterable[LogContent]) -> dict[tuple[str, str], str]:
    """The function of each compilation, by the label of its log and its id."""
    by_compile: dict[tuple[str, str], str] = {}
    for content in contents:
        for compile_id, stack in content.starts.items():
            if stack:
                by_compile[content.label, compile_id] = str(stack[-1].get("name", ""))
        for owner, row in content.metrics:
            if owner is not None and row.get("co_name"):
                by_compile[content.label, owner] = str(row["co_name"])
    return by_compile


def name_begun(content: LogContent, places: LogPlaces, compile_id: str) -> str:
    """The user's name of the function of a compilation, with the classes that it is in."""
    stack = content.starts.get(compile_id)
    if not stack:
        return named(functions([content]).get((content.label, compile_id), ""))
    own = stack[-1]
    line, number = own.get("line"), own.get("filename")
    file = content.strings.get(number, "") if isinstance(number, int) else ""
    frame = Frame(file, line if isinstance(line, int) else 0, str(own.get("name", "")))
    return name_function(places, frame)


def read_guards(text: str, resolve: Resolve) -> Iterator[SeenGuard]:
    """The guards of a printed tree, one for each leaf; a tensor's marks belong to the tensor's."""
    last: SeenGuard | None = None
    told: set[str] = set()
    for kind, source, rest in _list_leaves(text):
        if not rest and kind in told:  # of several tensors, which torch tells at the first
            continue
        told.add(kind)
        read = _read_leaf(kind, source, rest, resolve)
        if last is None:
            last = read
        elif kind == _MARKS and (last.kind, last.source) == (_TENSOR, source):
            last = replace(last, checks=(*last.checks, *read.checks))
        else:
            yield last
            last = read
    if last is not None:
        yield last


def _list_leaves(text: str) -> Iterator[tuple[str, str, str]]:
    """The kind of each leaf, what the manager around it looks at, and the rest of its line."""
    sources: list[tuple[int, str]] = []
    for line in text.split("\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        depth, kind, rest = len(match[1]), match[2], match[3] or ""
        while sources and sources[-1][0] >= depth:
            sources.pop()
        if kind.endswith("Manager"):
            source = _MANAGER.search(rest)
            sources.append((depth, source[1] if source else ""))
        else:
            yield kind, sources[-1][1] if sources else "", rest


def _read_leaf(kind: str, source: str, text: str, resolve: Resolve) -> SeenGuard:
    place = _COMMENT.search(text)
    code = text if place is None else text[: place.start()]
    file = None if place is None else resolve(place[2])
    line = None if place is None or file is None else int(place[3])
    return SeenGuard(kind, source, (code,), file, line)


def threads(text: str) -> int:
    """Torch's intra-op thread count when the guards were made; 0 when they do not say."""
    match = _THREADS.search(text)
    return int(match[1]) if match else 0
