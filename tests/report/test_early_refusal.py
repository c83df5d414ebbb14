"""A large file that is no record is refused by its first bytes, whatever its size."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.report.record import Report

SIZE = 24 << 20  # bytes of each file
MOST = 4 << 20  # bytes of memory that refusing it may take


def read_table(path: Path, ending: str) -> Any:
    """`Sweep.load` of the same file under the name of a table."""
    table = path.with_suffix(ending)
    if path.exists() and not table.exists():
        os.link(path, table)
    return wb.Sweep.load(table)


LOADERS: dict[str, Callable[[Path], Any]] = {
    "Report.load": Report.load,
    "RunProfile.load": lambda path: wb.RunProfile.load(path),  # of a world, which may be gone
    "wb.Session.load": lambda path: wb.Session.load(path),  # so is this
    "diff": lambda path: wb.diff(path, path),
    "opportunities": wb.opportunities,
    "Sweep.load": wb.Sweep.load,
    "Sweep.load of Parquet": partial(read_table, ending=".parquet"),
    "Sweep.stored": wb.Sweep.stored,
    "inspect": wb.inspect,
    "load": wb.load,
}


def write_large(path: Path, start: bytes, filling: bytes) -> Path:
    """A file of `SIZE` bytes that begins with `start`."""
    with path.open("wb") as file:
        file.write(start)
        if filling == b"\0":
            file.truncate(SIZE)
        while file.tell() < SIZE and filling != b"\0":
            file.write(filling * (1 << 20))
    return path


def refuse(load: Callable[[Path], Any], path: Path) -> int:
    """The most memory that was taken at once, in bytes, until the file was refused."""
    with pytest.raises(wb.WorkbenchError):
        load(path.with_name("missing"))  # what it imports is no part of the measure
    with pytest.raises(wb.WorkbenchError):
        load(path)
    tracemalloc.start()
    try:
        with pytest.raises(wb.WorkbenchError):
            load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize(
    ("start", "filling"), [(b"", b" "), (b"\x1f\x8b\x08", b"\0"), (b"PK\x03\x04", b"\0")]
)
def test_a_large_file_of_nothing_is_not_read(
    tmp_path: Path, name: str, start: bytes, filling: bytes
) -> None:
    path = write_large(tmp_path / "large", start, filling)
    assert os.path.getsize(path) >= SIZE
    assert refuse(LOADERS[name], path) < MOST


def test_a_table_of_white_space_is_not_read(tmp_path: Path) -> None:
    path = write_large(tmp_path / "large.csv", b"", b" ")
    assert refuse(wb.Sweep.load, path) < MOST
    with pytest.raises(wb.ArtifactError, match="it begins with white space"):
        wb.Sweep.load(path)


def test_what_follows_a_whole_record_is_not_read(tmp_path: Path, sample_report: Report) -> None:
    path = write_large(tmp_path / "large.wbr", sample_report.to_bytes(), b"\0")
    assert refuse(Report.load, path) < MOST
    assert refuse(wb.opportunities, path) < MOST
    with pytest.raises(wb.ArtifactError, match=r"its parts have \d+ bytes, but the file has 25\d+"):
        Report.load(path)


def test_what_no_member_of_a_session_holds_is_not_read(tmp_path: Path) -> None:
    with wb.session() as session:
        pass
    session.stop().save(tmp_path / "small.wbs")
    content = (tmp_path / "small.wbs").read_bytes()
    path = tmp_path / "large.wbs"
    with write_large(path, b"", b"\0").open("ab") as file:
        file.write(content)  # a zip is read from its end: what comes before does not matter
    assert refuse(wb.Session.load, path) < MOST
    with pytest.raises(wb.ArtifactError, match="unknown bytes"):
        wb.Session.load(path)
    assert (
        wb.Session.load(tmp_path / "small.wbs").header
        == wb.Session.from_bytes(content, path).header
    )
