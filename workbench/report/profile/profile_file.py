"""Files of profiles: `.wbr` files like those of reports, whose header says what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from os import PathLike
from typing import Any

from workbench.errors import ArtifactError
from workbench.plain_data import read_file
from workbench.report.profile.profile_rows import PROFILE_TABLES, ProfileHeader
from workbench.report.table import Table
from workbench.report.wbr_file import (
    LARGEST,
    PROFILE,
    Lazy,
    build_table_maker,
    check_start,
    open_parts,
    write_bytes,
)
from workbench.typed_data import read_row

SCHEMA = 1


def to_bytes(header: ProfileHeader, tables: Mapping[str, Table[Any]]) -> bytes:
    """The content of a `.wbr` file."""
    content = {name: table.to_json() for name, table in tables.items()}
    said = {"schema": SCHEMA, "kind": PROFILE, "profile": asdict(header)}
    return write_bytes({**said, "tables": content, "texts": {}})


def read(path: str | PathLike[str]) -> tuple[ProfileHeader, Mapping[str, Table[Any]]]:
    """Header and tables of a file; raises `ArtifactError` when it cannot be read as a profile."""
    try:
        content = read_file(path, LARGEST, check_start)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArtifactError(f"Cannot open the profile {path}: {reason}.") from error
    return read_content(content, path)


def read_content(
    content: bytes, path: str | PathLike[str]
) -> tuple[ProfileHeader, Mapping[str, Table[Any]]]:
    """Header and tables of what was written; `path` is named in errors, as `read` raises."""
    said, parts = open_parts(content)
    if said.get("kind") != PROFILE:
        raise ArtifactError(
            f"{path} is no profile of a device. A report opens with wb.Report.load; "
            "`workbench report` looks into it."
        )
    schema = said.get("schema")
    if not isinstance(schema, int) or schema > SCHEMA:
        raise ArtifactError(
            f"{path} has schema {schema}, this workbench reads up to {SCHEMA}. Upgrade "
            "aot-workbench to open it."
        )
    try:
        header = read_row(ProfileHeader, said.get("profile"))
    except ValueError as error:
        raise ArtifactError(f"{path} is damaged: its header: {error}.") from error
    makers = {name: _maker(row_type, parts, name) for name, row_type in PROFILE_TABLES.items()}
    tables = Lazy(makers)
    read_events = makers["events"]
    makers["events"] = lambda: _check_events(read_events(), tables["kernels"])
    return header, tables


def _check_events(events: Table[Any], kernels: Table[Any]) -> Table[Any]:
    known = set(kernels.columns.get("id", ()))
    lost = next((name for name in events.columns.get("kernel", ()) if name not in known), None)
    if lost is not None:
        raise ArtifactError(
            f"The profile is damaged: its events name the kernel {lost!r:.40}, which it lacks. Get "
            "the file again, or read the trace again with wb.read_profile."
        )
    return events


def _maker(
    row_type: type, parts: Mapping[str, Callable[[], Any]], name: str
) -> Callable[[], Table[Any]]:
    """What makes a table; of a file written before there was one it is empty."""
    part = parts.get(f"table:{name}")
    return (lambda: Table.of(row_type)) if part is None else build_table_maker(row_type, part)
