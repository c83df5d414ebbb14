"""Report files (`.wbr`): gzip members of JSON, one for the header and one for each big part."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeVar

from workbench.errors import ArtifactError
from workbench.plain_data import parse_json
from workbench.report.report_header import SCHEMA, Environment, Outcome, Request
from workbench.report.table import Table
from workbench.report.tables import TABLES, UNKNOWN
from workbench.report.texts import Texts
from workbench.typed_data import read_row, read_value

Value = TypeVar("Value")
PROFILE = "profile"
"""The kind that the header of a profile names; that of a report names none."""
_GZIP = 16 + zlib.MAX_WBITS
_HEAD = 4096  # bytes that tell what a file is, packed or not
_BLOCK = 64 << 10  # bytes of a header that are unpacked at once
_LEVEL = 5  # level 9 takes three times as long for 3 % less
LARGEST = 512 << 20
"""Bytes of a file; what a model of 100,000 nodes leaves takes 20 MiB."""
_PART_LIMIT = 64 << 20  # bytes of one part unpacked; 10,000 nodes take 3 MiB
_DAMAGE = (zlib.error, ValueError, RecursionError)


class Lazy(Mapping[str, Value]):
    """A mapping whose values are made when they are first asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], Value]]):
        self._makers = makers
        self._made: dict[str, Value] = {}

    def __getitem__(self, key: str) -> Value:
        if key not in self._made:
            self._made[key] = self._makers[key]()
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied with all values: what makes them is of this process."""
        return dict, (dict(self),)


class LazyTexts(Texts):
    """Texts that are decoded when the first one is asked for."""

    def __init__(self, read: Callable[[], Mapping[str, Any]]):
        self._read = read

    def __getattr__(self, name: str) -> Any:
        if name not in ("_lines", "_texts"):
            raise AttributeError(name)
        try:
            stored = read_row(_StoredTexts, self._read())
            last = max((max(text, default=-1) for text in stored.texts.values()), default=-1)
            if last >= len(stored.lines):
                raise ValueError(f"line {last} is missing")
        except ValueError as error:
            raise ArtifactError(f"The report is damaged (its texts): {error}.") from error
        super().__init__(stored.lines, stored.texts)
        return self.__dict__[name]


@dataclass(frozen=True)
class _StoredTexts:
    """Texts as JSON has them: the lines of each by number."""

    lines: list[str]
    texts: Mapping[str, list[int]]


def _check_schema(data: Mapping[str, Any]) -> None:
    """Raise `ArtifactError` when the record is of a newer schema or of none."""
    schema = data.get("schema")
    if not isinstance(schema, int):
        raise ArtifactError(
            "This is not a report: its schema is missing. Save it again with Report.save."
        )
    if schema > SCHEMA:
        raise ArtifactError(
            f"This report has schema {schema}, and this version reads up to {SCHEMA}. "
            "Upgrade aot-workbench to open it."
        )


def read_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a report out of `Report.to_json`; raises `ArtifactError` for a newer schema."""
    _check_schema(data)
    tables: dict[str, Table[Any]] = {
        name: _make_table(TABLES[name], part)
        for name, part in data["tables"].items()
        if name in TABLES
    }
    unknown = {n: p for n, p in data["tables"].items() if n not in TABLES}
    return _fields(data, tables, Texts.from_json(data["texts"]), unknown)


@dataclass(frozen=True)
class _Header:
    """What the header of a report says besides the sizes of its parts."""

    environment: Environment
    request: Request
    outcome: Outcome
    schema: int
    extra: Mapping[str, Any] = field(default_factory=dict)


def _fields(
    data: Mapping[str, Any],
    tables: Mapping[str, Table[Any]],
    texts: Texts,
    unknown: Mapping[str, Any],
) -> dict[str, Any]:
    try:
        header = read_row(_Header, data)
    except ValueError as error:
        raise ArtifactError(f"The report is damaged (its header): {error}.") from error
    extra = {**header.extra, **({UNKNOWN: unknown} if unknown else {})}
    return {**vars(header), "tables": tables, "texts": texts, "extra": extra}


def _pack(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":"), allow_nan=True)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return packer.compress(text.encode() + b"\n") + packer.flush()


def write_bytes(data: Mapping[str, Any]) -> bytes:
    """What `Report.to_json` gave as a `.wbr` file; any gzip tool shows it as lines of JSON."""
    parts = {**{f"table:{k}": v for k, v in data["tables"].items()}, "texts": data["texts"]}
    packed = {name: _pack(part) for name, part in parts.items()}
    header = {name: part for name, part in data.items() if name not in ("tables", "texts")}
    header["sizes"] = {name: len(part) for name, part in packed.items()}
    return b"".join([_pack(header), *packed.values()])


def read_bytes(content: bytes) -> dict[str, Any]:
    """The fields of a report; its tables and texts are read when first asked for.

    Raises `ArtifactError` when the content is damaged, of a newer schema or no report.
    """
    header, parts = open_parts(content)
    if header.get("kind") == PROFILE:
        raise ArtifactError(
            "This is a device profile, not a report. Open it with wb.RunProfile.load or "
            "`workbench profile`."
        )
    _check_schema(header)
    return _open(header, parts)


def is_profile(start: bytes) -> bool:
    """Whether a file that starts so is a profile of a device and no report."""
    try:
        header = parse_json(_unpack(start)[0])
    except _DAMAGE:
        return False
    return isinstance(header, dict) and header.get("kind") == PROFILE


def check_start(file: BinaryIO, size: int) -> None:
    """Raise `ArtifactError` by the header of a file of `size` bytes; reads no more than that."""
    unpacker, packed, length = zlib.decompressobj(_GZIP), bytearray(), 0
    while not unpacker.eof and length <= _PART_LIMIT and (block := file.read(_BLOCK)):
        packed += block
        try:
            length += len(unpacker.decompress(block))
        except zlib.error:
            break
    open_parts(bytes(packed), size)


def open_parts(
    content: bytes, size: int | None = None
) -> tuple[dict[str, Any], dict[str, Callable[[], Any]]]:
    """The header of a `.wbr` file, and by name what reads each of its parts.

    `size` is that of the file where `content` is its start alone. Raises `ArtifactError` when the
    content is damaged.
    """
    try:
        text, rest = _unpack(content)
        header = parse_json(text)
    except _DAMAGE as error:
        if is_kernel_log(content):
            raise ArtifactError(
                "This is a tritonparse log, not a report. Open it with wb.read_tritonparse."
            ) from error
        raise ArtifactError(
            f"This is not a report or it is damaged ({error}). Save it again with Report.save."
        ) from error
    if not isinstance(header, dict):
        raise ArtifactError("This is not a report: its header is not a JSON object.")
    try:
        sizes = read_value(Mapping[str, int], header.get("sizes", {}))
    except ValueError as error:
        raise ArtifactError(f"The report is damaged (part sizes): {error}.") from error
    return header, _parts(sizes, rest, 0 if size is None else size - len(content))


def is_kernel_log(content: bytes) -> bool:
    """Whether the content, packed or not, begins as a log of tritonparse does."""
    head = content[:_HEAD]
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(_GZIP).decompress(head, _HEAD)
        except zlib.error:
            return False
    return head.startswith(b"{") and b'"event_type"' in head


def _unpack(content: bytes) -> tuple[bytes, bytes]:
    """The first part of the content and what follows it; raises ValueError for one that is huge."""
    unpacker = zlib.decompressobj(_GZIP)
    part = unpacker.decompress(content, _PART_LIMIT)
    if unpacker.unconsumed_tail:
        raise ValueError(f"a part has more than {_PART_LIMIT} bytes")
    if not unpacker.eof:
        raise ValueError("a part is cut short")
    return part, unpacker.unused_data


def _parts(sizes: Mapping[str, int], rest: bytes, unread: int = 0) -> dict[str, Callable[[], Any]]:
    readers: dict[str, Callable[[], Any]] = {}
    start = 0
    for name, size in sizes.items():
        readers[name] = _reader(rest, name, start, start + size)
        start += size
    if start != len(rest) + unread:
        raise ArtifactError(
            f"The report is damaged: its parts have {start} bytes, but the file has "
            f"{len(rest) + unread}."
        )
    return readers


def _open(header: Mapping[str, Any], readers: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    tables: dict[str, Callable[[], Table[Any]]] = {}
    unknown: dict[str, Any] = {}
    for part, read in readers.items():
        kind, _, name = part.partition(":")
        if kind == "table" and name in TABLES:
            tables[name] = build_table_maker(TABLES[name], read)
        elif kind == "table":
            unknown[name] = read()
    if "texts" not in readers:
        raise ArtifactError("The report is damaged: its texts are missing.")
    return _fields(header, Lazy(tables), LazyTexts(readers["texts"]), unknown)


def _reader(rest: bytes, name: str, start: int, end: int) -> Callable[[], Any]:
    def read() -> Any:
        try:
            return parse_json(_unpack(rest[start:end])[0])
        except _DAMAGE as error:
            raise ArtifactError(f"Part {name} of the report is damaged ({error}).") from error

    return read


def build_table_maker(row_type: type, read: Callable[[], Any]) -> Callable[[], Table[Any]]:
    """What makes a table of a part when it is asked for; it raises `ArtifactError` for damage."""
    return lambda: _make_table(row_type, read())


def _make_table(row_type: type, data: Any) -> Table[Any]:
    try:
        return Table.from_json(row_type, data)
    except ValueError as error:
        raise ArtifactError(
            f"The report is damaged (table of {row_type.__name__}): {error}."
        ) from error
