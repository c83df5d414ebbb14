"""JSON, TOML and files from outside: one reader for each, which ends and says why it refuses."""

from __future__ import annotations

import contextlib
import gzip
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from log_readers import LOG_READERS

import workbench as wb
from workbench.artifacts.machine.machine_description import Machine
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.trials.store import Store
from workbench.compiler.sources.dynamo_messages import recompile_reasons
from workbench.plain_data import parse_json, parse_toml, read_file
from workbench.report.trials import Trial
from workbench.specs.catalogue import Catalogue

DEEP = b"[" * 100_000
DEEP_OBJECTS = b'{"a":' * 50_000


def wbr(*parts: bytes) -> bytes:
    return b"".join(gzip.compress(part) for part in parts)


def gpus(file: Path) -> object:
    folder = file.parent / "gpus"
    folder.mkdir()
    file.rename(folder / file.name)
    return Catalogue.of_user(file.parent)


READERS: dict[str, tuple[str, Callable[[bytes], bytes], Callable[[Path], object]]] = {
    "report": ("r.wbr", wbr, wb.Report.load),
    "table of a report": (
        "r.wbr",
        lambda deep: wbr(
            b'{"schema": 1, "environment": {}, "request": {}, "outcome": {}, "sizes": '
            b'{"table:kernels": %d, "texts": 0}}' % len(gzip.compress(deep)),
            deep,
        ),
        lambda path: wb.Report.load(path).kernels,
    ),
    "machine": ("m.json", bytes, Machine.of),
    "GPU, JSON": ("g.json", bytes, gpus),
    "GPU, TOML": ("g.toml", lambda deep: b"a = " + deep, gpus),
    "manifest": ("m", bytes, lambda path: Manifest.from_bytes(path.read_bytes())),
}


@pytest.mark.parametrize("deep", [DEEP, DEEP_OBJECTS, b"[" * 700 + b"]" * 700])
@pytest.mark.parametrize("name", READERS)
def test_what_nests_too_deeply_is_one_sentence(name: str, deep: bytes, tmp_path: Path) -> None:
    ending, make, read = READERS[name]
    file = tmp_path / ending
    file.write_bytes(make(deep))
    with pytest.raises(wb.WorkbenchError) as caught:
        read(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("ending", "read"),
    [(ending, read) for name, (ending, _, read) in READERS.items() if name != "manifest"]
    + [("s.csv", wb.Sweep.load), ("s.parquet", wb.Sweep.load), ("s.sqlite", wb.Sweep.load)]
    + [
        *zip(("t.log", "t.ndjson"), LOG_READERS, strict=False),
        ("a.aot", wb.inspect),
        ("a.aot", wb.load),
        ("a.pt2", wb.check),
    ],
)
def test_pipes_folders_and_huge_files_are_refused_before_they_are_read(
    ending: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    file = tmp_path / "pipe" / ending
    for make in (os.mkfifo, os.mkdir, sparse):
        (folder := tmp_path / make.__name__).mkdir()
        file = folder / ending
        make(file)
        with pytest.raises(wb.WorkbenchError):
            read(file)


def sparse(file: Path, start: bytes = b"") -> None:
    with file.open("wb") as made:
        made.write(start)
        made.truncate(6 << 30)


@pytest.mark.parametrize("start", [b"\x80\x04\x95", b"PK\3\4", b"\x7fELF\2\1\1", b"\x1f\x8b"])
@pytest.mark.parametrize("read", [wb.inspect, wb.load, wb.check, *LOG_READERS, wb.trust])
def test_huge_files_that_begin_well_are_refused(
    read: Callable[[Path], object], start: bytes, tmp_path: Path
) -> None:
    sparse(tmp_path / "m.pt2", start)
    with (tmp_path / "m.pt2").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b".")  # as a pickle ends
    with pytest.raises(wb.WorkbenchError):
        read(tmp_path / "m.pt2")


def test_a_limit_holds_for_files_whose_size_is_not_told() -> None:
    with pytest.raises(ValueError, match="more than 10 bytes"):
        read_file("/proc/self/maps", 10)


def test_keys_of_many_parts_take_no_quadratic_time() -> None:
    for text in (b"a." * 100_000 + b"a = 1", b"[" + b"a." * 100_000 + b"a]"):
        with pytest.raises(ValueError, match="more than 1,000 dots"):
            parse_toml(text)
    assert parse_toml(b"a.b = 1.5") == {"a": {"b": 1.5}}


def test_a_program_that_raised_the_recursion_limit_survives_deep_json() -> None:
    code = (
        "import sys; sys.setrecursionlimit(10**6)\n"
        "from workbench.plain_data import parse_json\n"
        "try: parse_json('[' * 200_000)\n"
        "except ValueError as error: print(error)\n"
        "print(len(parse_json('[' + '\"[[[\",' * 10_000 + '0]')))"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout == "its lists are nested more than 500 deep\n10001\n"


def test_a_reason_that_is_no_json_stays_text() -> None:
    assert list(recompile_reasons("[" * 100_000)) == ["[" * 100_000]
    assert parse_json('["a"]') == ["a"]


def stored(path: Path) -> None:
    settings = (("mode", "default"),)
    with Store(path) as store:
        kept = store.keep("s", Trial("k", settings, call_us=1.0), b"record")
        about = {"name": "f", "axes": {"mode": ["default"]}, "sizes": [], "expression": ""}
        rest = {"seconds": 1, "notes": [], "keys": [kept.key], "others": []}
        store.note("s", about | rest)


@pytest.mark.parametrize(
    "change",
    [
        *(
            f"UPDATE trials SET row = {row}"
            for row in (
                "'{'",
                "'[]'",
                "'3'",
                "NULLIF(1, 1) || ''",
                "x'ff'",
                "'{\"key\": 1}'",
                f"'{'[' * 100_000}'",
                """'{"key": "k", "settings": [], "call_us": "fast"}'""",
                """'{"key": "k", "settings": [["a"]]}'""",
                """'{"key": "k", "settings": [], "samples_us": [["x"]]}'""",
            )
            if "NULLIF" not in row
        ),
        *(
            f"UPDATE sweeps SET about = {about}"
            for about in (
                "'{}'",
                "'['",
                "'[1]'",
                f"'{'[' * 100_000}'",
                """'{"axes": [], "sizes": [], "notes": [], "keys": [], "others": []}'""",
                """'{"axes": {"a": 1}, "sizes": [], "notes": [], "keys": [], "others": []}'""",
                """'{"axes": {}, "sizes": [], "notes": [], "keys": [{}], "others": [1]}'""",
            )
        ),
        "UPDATE sweeps SET made = 'today'",
        "UPDATE sweeps SET made = 1e300",
        "UPDATE about SET value = 'x'",
        "DROP TABLE trials",
        "ALTER TABLE trials RENAME COLUMN row TO line",
    ],
)
def test_a_damaged_store_is_one_sentence(change: str, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    stored(path)
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()
    for read in (wb.Sweep.load, wb.Sweep.stored):
        with pytest.raises(wb.ArtifactError, match=r"s\.sqlite"):
            read(path)


def test_a_changed_record_and_flipped_bytes_of_a_store_are_found(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    stored(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE reports SET content = x'00'")
    connection.close()
    with pytest.raises(wb.ArtifactError, match="mode=default was changed"):
        wb.Sweep.load(path).report(0)
    whole = path.read_bytes()
    for at in range(0, len(whole), 1 + len(whole) // 150):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        with contextlib.suppress(wb.WorkbenchError):
            wb.Sweep.load(path)


def test_an_export_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.sqlite"
    stored(path)
    sweep = wb.Sweep.load(path)

    def full(self: Store, *_: Any, **__: Any) -> None:
        with self._writing():
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Store, "note", full)
    for target in (tmp_path / "new.sqlite", path):
        before = target.read_bytes() if target.exists() else None
        with pytest.raises(wb.ArtifactError, match="disk is full"):
            sweep.export(target)
        assert (target.read_bytes() if target.exists() else None) == before
    assert [file.name for file in tmp_path.iterdir()] == ["s.sqlite"]
