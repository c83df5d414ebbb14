"""The events of a trace in batches: no more of it is in memory than a batch."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from workbench.errors import ArtifactError
from workbench.foreign_text import find_foreign_text
from workbench.worlds.profiles.reading.trace_stream import CHUNK, TraceStream

_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"\}\s*,\s*(?=\{)")
_NEXT = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|ts)")')
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]', re.DOTALL)
_NO_NUMBER = re.compile(r"(?<=[:\[,])(\s*)-?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
_NO_ESCAPE = re.compile(r'\\(?!["\\/bfnrtu])')
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<lone>u[dD][89a-fA-F]\w\w)|.)", re.DOTALL
)
_FOREIGN = {
    b"SQLite": "a SQLite database, such as an Nsight Systems export",
    b"PK": "a zip file",
    b"\x80": "a pickle, such as a torch.cuda.memory snapshot",
    b"\x89PNG": "an image",
    b"\x7fELF": "a program",
    b"\x28\xb5\x2f\xfd": "a zstd-compressed file",
}
"""What begins so, in words."""
_LIST_OF_OTHERS = re.compile(rb"[\xef\xbb\xbf\s]*\[\s*(?:[^\s{\]]|\]\s*,)")  # events are objects
_TAIL = 1 << 16  # bytes at the end of a batch in which the end of an event is looked for
_TRIES = 6
_MOST_AROUND = 16 << 20  # bytes before and behind the events
_LONGEST = 8 << 20  # bytes of one event
_SEAM = 64  # bytes from the end of one event to the first key of the next
_DEEPEST = 500  # lists and objects within each other; the profiler's have four
_MOST_DAMAGED = 100_000  # beside as many as there are events; a damaged trace has a few
_MOST_LOOKED = 2_000_000  # brackets and texts, beside those of events; about a second
_LOOKED_OF_EVENT = 500
MOST_EVENTS = 40_000_000


class EventBatches:
    """Iterate over batches of events; `head` is what stands around them, once all were read.

    `damaged` counts events that are no JSON. `given_up` says in a clause why it ended early. Raises
    `ArtifactError` for what is no trace at all.
    """

    def __init__(self, stream: TraceStream):
        self.head: dict[str, Any] = {}
        self.damaged = 0
        self.events = 0
        self.given_up = ""
        self._stream = stream
        self._buffer = b""
        self._is_list = False
        self._is_lost = False  # in an event that is too long to be read
        self._looked = 0  # brackets and texts that were looked at one by one

    def __iter__(self) -> Iterator[list[Any]]:
        self._find_start()
        is_last = has_ended = False
        while not has_ended and not is_last:
            # twice of what had no end: an event that is very long is looked through a few times
            is_last = not self._fill(max(CHUNK, 2 * len(self._buffer)))
            batch, has_ended = self._take(is_last)
            self.events += len(batch)
            yield batch
            if self.events > MOST_EVENTS:
                self.given_up = f"it has more than {MOST_EVENTS:,} events"
                return
            if self._is_hopeless():
                self.given_up = "most of its entries are not events"
                return
        self.given_up = self._stream.given_up or self.given_up
        if not has_ended and not self.given_up and not self._is_list:
            self.given_up = "its list of events is cut off"
        if has_ended:
            self._read_tail()

    def _is_hopeless(self, more: int = 0) -> bool:
        """Whether what is no event outweighs the events: each takes as long as many of those."""
        events = self.events + more
        is_looked_through = self._looked > _MOST_LOOKED + _LOOKED_OF_EVENT * events
        return is_looked_through or self.damaged > _MOST_DAMAGED + events

    def _fill(self, size: int) -> bool:
        """Read until there are so many bytes; False where the trace has no more."""
        parts, total = [self._buffer], len(self._buffer)
        while total < size and (chunk := self._stream.read()):
            parts.append(chunk)
            total += len(chunk)
        self._buffer = b"".join(parts)
        return total >= size

    def _find_start(self) -> None:
        """Read up to the first event."""
        is_more = True
        while is_more and len(self._buffer) < _MOST_AROUND:
            is_more = self._fill(max(CHUNK, 2 * len(self._buffer)))
            begin = self._buffer.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
            if begin == b"[" and _LIST_OF_OTHERS.match(self._buffer):
                break
            if begin == b"[":  # the older form of Chrome's: events without anything around them
                self._is_list = True
                self._buffer = self._buffer[self._buffer.index(b"[") + 1 :]
                return
            if begin not in (b"{", b""):
                break
            for found in itertools.islice(_EVENTS.finditer(self._buffer), _TRIES):
                head = parse_loosely(self._buffer[: found.start()] + b'"":0}')
                if isinstance(head, dict):
                    self.head = head
                    self._buffer = self._buffer[found.end() :]
                    return
        raise ArtifactError(self._explain_foreign())

    def _explain_foreign(self) -> str:
        name, start = self._stream.path.name, self._buffer[:400]
        if self._stream.given_up:
            return f"{name} has no events: {self._stream.given_up}. Get the file again."
        for sign, what in _FOREIGN.items():
            if start.startswith(sign):
                return f"{name} is {what}, not a torch.profiler trace (*.json, *.json.gz)."
        if not self._buffer:
            return f"{name} is empty: the copy was cut short. Get the file again."
        if not start.strip():
            return f"{name} is not a trace: it starts with white space and has no events."
        found = find_foreign_text(start)
        if found is not None:
            return f"{name} is {found.what}: {found.how}"
        if b'"schema"' in start:
            return (
                f"{name} is an aot-workbench file, not a trace: open a report with "
                "wb.Report.load, a profile with wb.RunProfile.load."
            )
        if b'"event_type"' in start:
            return f"{name} is a tritonparse log: open it with wb.read_tritonparse."
        return (
            f"{name} is not a trace: it has no traceEvents list. Write one with torch.profiler: "
            "prof.export_chrome_trace('trace.json.gz')."
        )

    def _take(self, is_last: bool) -> tuple[list[Any], bool]:
        """The events that the buffer has whole, and whether those were all of the trace."""
        if self._is_lost:
            begin = _NEXT.search(self._buffer)
            # what an event begins with may lie across the end of what was read
            self._buffer = self._buffer[begin.end() if begin else -_SEAM :]
            if begin is None:
                return [], False
            self._is_lost, self.damaged = False, self.damaged + 1
        if is_last:
            found = self._take_rest()
            return self._take_one_by_one(is_last) if found is None else (found, True)
        buffer = self._buffer
        tail = max(0, len(buffer) - _TAIL)
        cuts = [found.span() for found in _BETWEEN.finditer(buffer, tail)]
        for end, after in reversed(cuts[-_TRIES:]):
            # a list that parses from where an event begins can only end where one does
            batch = _parse_list(buffer[: end + 1])
            if batch is not None:
                self._buffer = buffer[after:]
                return batch, False
        return self._take_one_by_one(is_last)

    def _take_rest(self) -> list[Any] | None:
        """The events up to the bracket that ends them, which is near the end of a whole file."""
        buffer, end = self._buffer, len(self._buffer)
        for _ in range(_TRIES):
            end = buffer.rfind(b"]", 0, end)
            if end < 0:
                return None
            rest = buffer[end + 1 :]
            is_whole = (
                not rest.strip()
                if self._is_list
                else isinstance(parse_loosely(b'{"":0' + rest), dict)
            )
            if is_whole and (batch := _parse_list(buffer[:end])) is not None:
                self._buffer = rest
                return batch
        return None

    def _take_one_by_one(self, is_last: bool) -> tuple[list[Any], bool]:
        """The same by counting brackets: for a batch with anything in it that is no JSON."""
        batch: list[Any] = []
        at, has_ended = 0, False
        while not has_ended and not self._is_hopeless(len(batch)):
            start, end, depth, looked = _find_event(self._buffer, at)
            self._looked += looked
            if end is not None and self._buffer[start : start + 1] in b"]}":
                at, has_ended = start + 1, True
            elif end is not None:
                self._keep(batch, self._buffer[start:end] if depth <= _DEEPEST else b"")
                at = end
            else:
                lost = _NEXT.search(self._buffer, start + 1)
                is_lost = is_last or len(self._buffer) - start > _LONGEST
                if not is_lost or lost is None:
                    self._is_lost = is_lost and not is_last
                    at = len(self._buffer) - _SEAM if self._is_lost else start
                    break
                self.damaged += 1
                at = lost.end()
        self._buffer = self._buffer[at:]
        return batch, has_ended

    def _keep(self, batch: list[Any], text: bytes) -> None:
        event = parse_loosely(text) if text else None
        if isinstance(event, dict):
            batch.append(event)
        else:
            self.damaged += 1

    def _read_tail(self) -> None:
        """What stands behind the events, where it is of any use."""
        self._fill(_MOST_AROUND)
        tail = parse_loosely(b'{"":0' + self._buffer)
        if isinstance(tail, dict):
            self.head = {**self.head, **tail}


def _parse_list(content: bytes) -> list[Any] | None:
    try:
        made = orjson.loads(b"[" + content + b"]")
    except orjson.JSONDecodeError:
        return None
    return made if isinstance(made, list) else None


def _find_event(buffer: bytes, at: int) -> tuple[int, int | None, int, int]:
    """Start and end of the next event, how deep it nests, and how many signs were looked at.

    Without an end it is not whole. A bracket that closes what is around the events is one of its
    own.
    """
    start, depth, deepest, looked = at, 0, 0, 0
    for looked, token in enumerate(itertools.islice(_TOKEN.finditer(buffer, at), _MOST_LOOKED), 1):
        sign = token[0]
        if sign in b"{[":
            start = token.start() if depth == 0 else start
            depth += 1
            deepest = max(deepest, depth)
        elif sign in b"}]":
            if depth == 0:
                return token.start(), token.end(), 0, looked
            depth -= 1
            if depth == 0:
                return start, token.end(), deepest, looked
        elif len(sign) < 2 or not sign.endswith(b'"'):
            break  # the buffer ends in a string
    return start, None, deepest, looked


def parse_loosely(content: bytes) -> Any:
    """The value of a JSON text, also of one that older profilers wrote wrong; else None.

    They wrote `nan`, paths of Windows without escapes, and bytes that are no UTF-8. Half of a pair
    of surrogates becomes a replacement character: no table and no page could hold it.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        if _nests_deeply(content):  # what recurses in C would end the process
            return None
    text = content.decode("utf-8", "replace")
    text = _ESCAPE.sub(lambda found: r"\ufffd" if found["lone"] else found[0], text)
    for mend in (lambda t: t, lambda t: _NO_ESCAPE.sub(r"\\\\", _NO_NUMBER.sub(r"\1null", t))):
        try:
            return json.loads(mend(text), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _nests_deeply(content: bytes) -> bool:
    if content.count(b"[") + content.count(b"{") <= _DEEPEST:
        return False
    depth = 0
    for token in _TOKEN.finditer(content):
        depth += 1 if token[0] in b"{[" else -1 if token[0] in b"}]" else 0
        if depth > _DEEPEST:
            return True
    return False
