"""The records of one log: their kind, the compilation that they belong to, their payload."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from typing import Any

import orjson

from workbench.compiler.internals.trace import CONTEXT, OWN_FRAME_ID
from workbench.trace_logs.splitting import Damage, Segment, segments


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record; `name` is the artifact's name or the kind, `raw` the payload as in the file."""

    name: str
    meta: Any
    metadata: dict[str, Any]
    compile_id: str | None
    raw: bytes

    def text(self) -> str:
        """The payload."""
        return self.raw.replace(b"\n\t", b"\n")[1:].decode("utf-8", "replace")

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

    def __init__(self, file: BufferedIOBase):
        self._file = file
        self.damage = Damage()
        self.strings: dict[int, str] = {}
        self.rank: int | None = None
        self._compile_id: str | None = None

    def records(self) -> Iterator[LogRecord]:
        """Every record whose metadata can be read; raises nothing because of a log's content."""
        last: LogRecord | None = None
        is_read = True
        for segment in segments(self._file, self.damage):
            record = self._record(segment)
            is_read = record is not None
            if record is None:
                self.damage.unreadable += 1
            elif record.name == "str":
                self._intern(record.meta)
            elif record.name:
                last = record
                yield record
        if not is_read:
            self.damage.unreadable -= 1
        is_whole = is_read and (last is None or last.is_whole())
        self.damage.cut_off = self.damage.cut_off or not is_whole

    def _record(self, segment: Segment) -> LogRecord | None:
        try:
            metadata = orjson.loads(segment.metadata)
        except ValueError:
            return None
        kind = next((key for key in metadata if key not in CONTEXT), "")
        meta = metadata.get(kind)
        is_artifact = kind == "artifact" and isinstance(meta, dict)
        name = str(meta.get("name", kind)) if is_artifact else kind
        rank = metadata.get("rank")
        if self.rank is None and isinstance(rank, int):
            self.rank = rank
        return LogRecord(name, meta, metadata, self._named(metadata), segment.payload)

    def _intern(self, meta: Any) -> None:
        if isinstance(meta, list) and len(meta) == 2 and isinstance(meta[1], int):
            self.strings[meta[1]] = str(meta[0])

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
