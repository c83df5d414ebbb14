"""Session files (`.wbs`): a zip of one JSON document and a `.wbr` for each report that was kept."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from os import PathLike
from typing import IO, Any

from workbench.errors import ArtifactError
from workbench.plain_data import parse_json, read_file
from workbench.report.atomic import write_saved_file
from workbench.report.record import Report
from workbench.report.session.session_rows import SESSION_TABLES, Reports, SessionHeader
from workbench.report.table import Table
from workbench.typed_data import read_row

Parts = tuple[SessionHeader, Mapping[str, Table[Any]], Mapping[int, Report]]
"""What a session is made of, and its file: its header, its tables, the reports that were kept."""
SCHEMA = 1
_RECORD = "session.json"
_LIMIT = 256 << 20  # bytes of one part unpacked; 10,000 steps take 1 MiB
_LARGEST = 1 << 30  # bytes of a file: a thousand compiles of 1 MiB
_AROUND = 1 << 10  # bytes: headers, names and the row in the directory, of one member
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError),
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError),
    RuntimeError,  # an encrypted member
)


def write(parts: Parts, path: str | PathLike[str]) -> None:
    """Write the parts of a session, atomically."""
    with write_saved_file(path) as file:
        _write(parts, file)


def to_bytes(parts: Parts) -> bytes:
    """What `write` writes."""
    content = io.BytesIO()
    _write(parts, content)
    return content.getvalue()


def _write(parts: Parts, file: IO[bytes]) -> None:
    header, tables, kept = parts
    reports = dict(kept)
    first = {id(report): at for at, report in reversed(reports.items())}
    same = {at: first[id(report)] for at, report in reports.items() if first[id(report)] != at}
    record = {
        "schema": SCHEMA,
        "header": asdict(header),
        "tables": {name: table.to_json() for name, table in tables.items()},
        "same_report": same,
    }
    with zipfile.ZipFile(file, "w") as archive:
        text = json.dumps(record, separators=(",", ":"))
        archive.writestr(_RECORD, text, compress_type=zipfile.ZIP_DEFLATED)
        for at, report in reports.items():
            if at not in same:
                archive.writestr(_member(at), report.to_bytes())


def read(path: str | PathLike[str]) -> Parts:
    """The parts of a session; raises `ArtifactError` when the file cannot be read as one."""
    try:
        content = read_file(path, _LARGEST, partial(_check_directory, path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArtifactError(f"Cannot open the session {path}: {reason}.") from error
    return read_session_parts(content, path)


def read_session_parts(content: bytes, path: str | PathLike[str]) -> Parts:
    """The parts of a session from what was written; `path` is named in errors, as `read` raises."""
    try:
        record = parse_json(_part(content, _RECORD))
        _check_schema(record, path)
        header = read_row(SessionHeader, record["header"])
        tables: dict[str, Table[Any]] = {
            name: Table.from_json(row_type, record["tables"].get(name, {"columns": {}}))
            for name, row_type in SESSION_TABLES.items()
        }
        same = {int(at): int(first) for at, first in record.get("same_report", {}).items()}
        kept = zipfile.ZipFile(io.BytesIO(content)).namelist()
    except _DAMAGE as error:
        raise _explain_damage(path, error) from error
    members = {at: same.get(at, at) for at in range(len(tables["compiles"]))}
    makers = {
        at: partial(_report, content, first)
        for at, first in members.items()
        if _member(first) in kept
    }
    return header, tables, Reports(makers, same)


def _check_directory(path: str | PathLike[str], file: IO[bytes], size: int) -> None:
    """Raise `ArtifactError` for a file whose bytes are not those of a session's members."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            archive.getinfo(_RECORD)
        most = sum(member.compress_size + _AROUND for member in members) + _AROUND
        if size > most:
            raise ValueError(f"{size - most:,} bytes belong to no part")
    except _DAMAGE as error:
        raise _explain_damage(path, error) from error


def _explain_damage(path: str | PathLike[str], error: Exception) -> ArtifactError:
    return ArtifactError(
        f"{path} is no session or it is damaged ({type(error).__name__}: {error}). Save it "
        "again with Session.save."
    )


def _member(at: int) -> str:
    return f"compiles/{at}.wbr"


def _part(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if archive.getinfo(name).file_size > _LIMIT:
            raise ValueError(f"a part of more than {_LIMIT} bytes")
        return archive.read(name)


def _report(content: bytes, at: int) -> Report:
    try:
        return Report.from_bytes(_part(content, _member(at)))
    except _DAMAGE as error:
        raise ArtifactError(f"The report of compile {at} is damaged ({error}).") from error


def _check_schema(record: Any, path: str | PathLike[str]) -> None:
    schema = record["schema"]
    if not isinstance(schema, int):
        raise ValueError("it names no schema")
    if schema > SCHEMA:
        raise ArtifactError(
            f"{path} has schema {schema}, this workbench reads up to {SCHEMA}. Upgrade "
            "aot-workbench to open it."
        )
