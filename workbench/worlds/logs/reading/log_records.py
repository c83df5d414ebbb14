"""The records of one log: a header with its metadata, and a payload.

A record is `V1121 16:46:54.983000 8586 torch/_dynamo/utils.py:2350] {"kind": …}`, then the lines of
its payload, each after a tab. Everything else in the file is counted.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from itertools import pairwise
from typing import Any

import orjson

from workbench.compiler.internals.trace import CONTEXT, OWN_FRAME_ID
from workbench.number_text import plural

_HEADER = re.compile(rb"\n(?:\[rank\d+\]: ?)?[VDIWEC]\d{4} \d\d:\d\d:\d\d[^\n{\]]*\] (\{[^\n]*)")
_BLOCK = 4 << 20
LARGEST = 64 << 20
"""Bytes of a payload that is kept; of a larger one only its record is."""
_LONGEST_LINE = 4 << 20  # bytes; torch's longest, of metrics with all options, has 40,000
_LINE = re.compile(rb"\n[ \t\r\f\v]*+\S")  # one that is not blank
_UNTABBED_LINE = re.compile(rb"\n(?!\t)[ \t\r\f\v]*+\S")


@dataclass(frozen=True)
class Bounds:
    """How much of a log is read, in bytes, so that no content takes unbounded time or memory.

    `before` the first record, `barren` without any after it, `inside` of one payload, `whole` of
    all, which matters for what is unpacked, `kept` of all records that belong into a report.
    """

    before: int = 16 << 20
    barren: int = 128 << 20
    inside: int = 1 << 30
    whole: int = 1 << 40
    kept: int = 2 << 30


@dataclass(frozen=True, slots=True)
class Segment:
    """One record as in the file; the payload still has a tab before every line."""

    metadata: bytes
    payload: bytes


@dataclass
class Damage:
    """What a log holds beside whole records, counted."""

    foreign: int = 0  # lines that are of no record
    unreadable: int = 0  # records whose metadata or payload is no JSON
    changed: int = 0  # payloads that are not what their record says
    oversized: int = 0  # payloads that were too large to keep
    cut_off: bool = False  # whether the last record lacks its end
    given_up: str = ""  # why the rest was not read

    @property
    def is_lossy(self) -> bool:
        """Whether a record may be missing anywhere, not at the end alone."""
        return bool(self.foreign or self.unreadable or self.changed or self.oversized)

    def sentences(self) -> Iterator[str]:
        """What was passed over, in words."""
        if self.foreign:
            yield f"skipped {plural(self.foreign, 'line')} outside any record"
        if self.unreadable:
            yield f"skipped {plural(self.unreadable, 'unreadable record')}"
        if self.changed:
            yield f"{plural(self.changed, 'payload')} with lost or changed lines"
        if self.oversized:
            size = f"{LARGEST >> 20} MiB"
            yield f"skipped {plural(self.oversized, 'payload')} larger than {size}"
        if self.given_up:
            yield f"the rest of the log was not read: {self.given_up}"
        elif self.cut_off:
            yield "the log ends within a record: the process was stopped or is still writing"


def split_segments(
    file: BufferedIOBase, damage: Damage, bounds: Bounds | None = None
) -> Iterator[Segment]:
    """The records of a log in their order; reads in blocks, so that its size does not matter."""
    bounds = bounds or Bounds()
    rest, size = b"\n", _BLOCK
    is_inside = is_log = False  # of a payload that is left out; a record was found
    barren = whole = 0  # bytes since the last record, and of all
    while block := _read(file, size, damage):
        buffer = rest + block
        barren, whole = barren + len(block), whole + len(block)
        empty = bounds.barren if is_log else min(bounds.before, bounds.barren)
        if barren > (most := bounds.inside if is_inside else empty):
            damage.given_up = f"{most >> 20} consecutive MiB contain no record"
            return
        if whole > bounds.whole:
            damage.given_up = f"it exceeds {bounds.whole >> 20} MiB unpacked"
            return
        starts = list(_HEADER.finditer(buffer))
        end = starts[-1].start() if starts else 0
        is_log = is_log or bool(starts)
        if len(starts) > 1:
            _count_foreign(buffer[: starts[0].start()], damage, is_inside)
            is_inside, barren = False, 0
            for match, following in pairwise(starts):
                yield _segment(buffer, match, following.start(), damage)
            rest, size = buffer[end:], _BLOCK
        elif len(buffer) - end <= LARGEST:
            rest, size = buffer, 2 * size  # a large payload: not to be searched over and over
        elif starts:
            _count_foreign(buffer[: starts[0].start()], damage, is_inside)
            damage.oversized += 1
            is_inside, barren = True, 0
            yield Segment(starts[0][1], b"")
            rest, size = _tail(buffer, starts[0].end(), is_inside), _BLOCK
        else:
            rest, size = _tail(buffer, 0, is_inside), _BLOCK
            _count_foreign(buffer[: max(len(buffer) - len(rest), 0)], damage, is_inside)
    yield from _last(rest.removesuffix(b"\n"), damage, is_inside)


def _read(file: BufferedIOBase, size: int, damage: Damage) -> bytes:
    """The next bytes; a compressed log that lacks its end ends where it can be unpacked to."""
    parts: list[bytes] = []
    try:
        while size > 0 and (part := file.read1(size)):
            parts.append(part)
            size -= len(part)
    except (EOFError, zlib.error):
        damage.cut_off = True
    return b"".join(parts)


def _last(buffer: bytes, damage: Damage, is_inside: bool) -> Iterator[Segment]:
    starts = list(_HEADER.finditer(buffer))
    _count_foreign(buffer[: starts[0].start()] if starts else buffer, damage, is_inside)
    ends = [match.start() for match in starts[1:]] + [len(buffer)]
    for match, end in zip(starts, ends, strict=False):
        yield _segment(buffer, match, end, damage)


def _tail(buffer: bytes, start: int, is_inside: bool) -> bytes:
    """The last line, which the next block goes on with; of a huge one only that it goes on."""
    begin = max(buffer.rfind(b"\n"), start)
    if len(buffer) - begin <= _LONGEST_LINE:
        return buffer[begin:]
    return b"\t" if is_inside else b""


def _segment(buffer: bytes, header: re.Match[bytes], end: int, damage: Damage) -> Segment:
    payload = buffer[header.end() : end]
    lines = payload.count(b"\n")
    if lines != payload.count(b"\n\t"):
        at = re.search(rb"\n(?!\t)", payload)
        if at is not None:
            _count_foreign(payload[at.start() :], damage)
            payload = payload[: at.start()]
    return Segment(header[1], payload)


def _count_foreign(lines: bytes, damage: Damage, is_inside: bool = False) -> None:
    """Count lines; inside of a payload that is left out those after a tab belong to it."""
    kind = _UNTABBED_LINE if is_inside else _LINE
    damage.foreign += sum(1 for _ in kind.finditer(b"\n" + lines))


@dataclass(frozen=True, slots=True)
class Payload:
    """What a record holds; `name` is the artifact's name or the kind, `raw` is as in the file."""

    name: str
    compile_id: str | None
    raw: bytes

    def text(self) -> str:
        """The payload."""
        return self.raw.replace(b"\n\t", b"\n")[1:].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class LogRecord(Payload):
    """One record with its metadata."""

    meta: Any
    metadata: dict[str, Any]

    def is_whole(self) -> bool:
        """Whether the payload is the one that was written, by the digest in the record."""
        digest = self.metadata.get("has_payload")
        if digest is None:
            return True
        content = self.raw.replace(b"\n\t", b"\n")[1:]
        return bool(hashlib.md5(content, usedforsecurity=False).hexdigest() == digest)

    def json(self) -> Any:
        """The payload as JSON; raises `ValueError` where it is none. Tabs are blanks there."""
        return orjson.loads(self.raw or b"null")


class LogReader:
    """Reads one log; `strings` are the file names that its records refer to by number."""

    def __init__(self, file: BufferedIOBase, bounds: Bounds | None = None):
        self._file = file
        self._bounds = bounds or Bounds()
        self.damage = Damage()
        self.strings: dict[int, str] = {}
        self.rank: int | None = None
        self._compile_id: str | None = None

    def records(self) -> Iterator[LogRecord]:
        """Every record whose metadata can be read; raises nothing because of a log's content."""
        last: LogRecord | None = None
        is_read = True
        for segment in split_segments(self._file, self.damage, self._bounds):
            record = self._record(segment)
            is_read = record is not None
            if record is None:
                self.damage.unreadable += 1
            elif record.name == "str":
                match record.meta:
                    case [text, int(number)]:
                        self.strings[number] = str(text)
            elif record.name:
                last = record
                yield record
        if not is_read:
            self.damage.unreadable -= 1
        is_whole = is_read and (last is None or last.is_whole())
        self.damage.cut_off = self.damage.cut_off or not is_whole

    def _record(self, segment: Segment) -> LogRecord | None:
        if len(segment.metadata) > _LONGEST_LINE:
            return None
        try:
            return self._named_record(segment, orjson.loads(segment.metadata))
        except (ValueError, RecursionError):  # orjson lets 1,024 levels pass
            return None

    def _named_record(self, segment: Segment, metadata: dict[str, Any]) -> LogRecord:
        kind = next((key for key in metadata if key not in CONTEXT), "")
        meta = metadata.get(kind)
        name = kind
        if kind == "artifact" and isinstance(meta, dict):
            name = str(meta.get("name", kind))
        rank = metadata.get("rank")
        if self.rank is None and isinstance(rank, int):
            self.rank = rank
        return LogRecord(name, self._named(metadata), segment.payload, meta, metadata)

    def _named(self, metadata: dict[str, Any]) -> str | None:
        """Torch's name of the compilation; of what names none, None."""
        outer, frame = metadata.get("compiled_autograd_id"), metadata.get("frame_id")
        if frame is None:
            return None if outer is None else f"!{outer}"
        if frame == OWN_FRAME_ID:  # the backend of our own aot_compile
            return self._compile_id
        text = f"{frame}/{metadata.get('frame_compile_id')}"
        self._compile_id = text if outer is None else f"!{outer}/{text}"
        return self._compile_id
