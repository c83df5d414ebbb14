"""Logs of kernels that say something else than tritonparse writes: sentences, never raw errors."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.worlds.logs.reading.test_hostile import spoiled
from tests.worlds.logs.reading.test_kernel_log import T4, events, written
from workbench.compiler.machine_code import listings
from workbench.compiler.machine_code.code_readers import read_amd_usage
from workbench.report.presenter import presenter
from workbench.worlds.logs.reading import kernel_events


def used(path: Path) -> wb.Report:
    """Ask for everything that a log gives."""
    report = wb.read_tritonparse(path)
    for name in ("kernels", "resources", "assembly", "launches", "autotune", "sources"):
        report.frame(name)
    presenter().text(report)
    report.save(path.with_suffix(".wbr"))
    assert wb.Report.load(path.with_suffix(".wbr")).kernels == report.kernels
    return report


@pytest.mark.parametrize("seed", range(60))
def test_wrong_values_end_in_a_report_or_a_sentence(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    rows = [spoiled(row, chance) if chance.random() < 0.6 else row for row in events()]
    path = tmp_path / "t.ndjson"
    path.write_bytes("".join(f"{json.dumps(row)}\n" for row in rows).encode())
    with suppress(wb.UsageError):
        used(path)


def test_a_log_that_was_cut_off_tells_what_it_has(tmp_path: Path) -> None:
    packed = T4.read_bytes()
    (tmp_path / "cut.ndjson.gz").write_bytes(packed[: len(packed) * 9 // 10])
    report = used(tmp_path / "cut.ndjson.gz")
    assert any("ends within an event" in note for note in report.request.notes)
    text = gzip.decompress(packed)
    (tmp_path / "cut.ndjson").write_bytes(text[: len(text) - 20])
    assert any("ends within an event" in n for n in used(tmp_path / "cut.ndjson").request.notes)


def test_lines_without_an_event_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"{json.dumps(row)}\n" for row in events())
    (tmp_path / "t.ndjson").write_text(f"one\n{{}}\n\n[1]\n{rows}")
    assert "skipped 3 lines without an event" in used(tmp_path / "t.ndjson").request.notes


def test_events_that_are_not_known_are_named(tmp_path: Path) -> None:
    report = used(written(tmp_path / "t.ndjson", [*events(), {"event_type": "roofline"}]))
    assert "unsupported kinds of events: roofline" in report.request.notes
    assert report.extra == {"unknown_records": {"roofline": 1}}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.ndjson", b"", "has no tritonparse kernel"),
        ("t.ndjson", b"\x28\xb5\x2f\xfd1234", "zstd"),
        ("t.ndjson", b"PK\x03\x04", "zip file"),
        ("t.ndjson", b"V1121 16:46:54.983000 8586 torch/a.py:1] {}\n", "read_trace"),
        ("t.ndjson", b'{"schemaVersion": 1, "traceEvents": []}', r"wb\.read_profile"),
        ("t.ndjson", b'{"a": 1}\n', "has no tritonparse kernel"),
        ("t.ndjson.gz", b"\x1f\x8b" + b"\0" * 40, "Cannot read|has no tritonparse kernel"),
        (
            "t.ndjson.gz",
            gzip.compress(b"nothing\n", mtime=0) + b"rest",
            "Cannot read|has no tritonparse kernel",
        ),
    ],
)
def test_other_files_are_named(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(wb.UsageError, match=said):
        wb.read_tritonparse(tmp_path / name)


def test_a_folder_without_a_log_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(wb.UsageError, match="has no tritonparse log"):
        wb.read_tritonparse(tmp_path)
    with pytest.raises(wb.UsageError, match="does not exist"):
        wb.read_tritonparse(tmp_path / "missing.ndjson")


def test_lines_without_end_are_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel_events, "LONGEST_LINE", 1 << 16)
    rows = "".join(f"{json.dumps(row)}\n" for row in events(LOG_OF_AMD))
    (tmp_path / "t.ndjson").write_text(rows + "x" * (1 << 20) + "\n" + rows)
    report = used(tmp_path / "t.ndjson")
    assert any("skipped 1 event larger than" in note for note in report.request.notes)
    (tmp_path / "z.ndjson").write_bytes(b"\0" * (1 << 20))
    with pytest.raises(wb.UsageError, match="contain no event"):
        wb.read_tritonparse(tmp_path / "z.ndjson")


def test_launches_of_too_many_kinds_are_counted_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel_events, "_MOST_KINDS", 3)
    row = events()[1]
    rows = [{**row, "grid": [n]} for n in range(20)]
    report = used(written(tmp_path / "t.ndjson", rows))
    assert [launch.count for launch in report.launches] == [1, 1, 1, 17]
    assert report.kernels[0].calls == 20


def circle() -> str:
    """Locations of MLIR that lead back to themselves."""
    return "#loc1 = loc(#loc2)\n#loc2 = loc(#loc1)\n%0 = tt.load %1 loc(#loc1)\n"


def doubling() -> str:
    """Calls of MLIR, each of which holds the one before twice."""
    names = [f"#loc{n} = loc(callsite(#loc{n - 1} at #loc{n - 1}))" for n in range(2, 60)]
    return "\n".join(['#loc1 = loc("k.py":3:0)', *names, "%0 = tt.load %1 loc(#loc59)"])


def inlined() -> str:
    """LLVM's nodes that are inlined into each other, and a scope that is its own."""
    return (
        "%1 = add i32 %2, 1, !dbg !1\n!1 = !DILocation(line: 3, scope: !4, inlinedAt: !2)\n"
        '!2 = !DILocation(line: "x", scope: !4, inlinedAt: !1)\n!4 = !DISubprogram(scope: !4)\n'
    )


def located() -> str:
    """Lines of PTX, each inlined at the one before."""
    lines = [f"\t.loc 1 {n} 0, function_name $x, inlined_at 1 {n - 1} 0" for n in range(2, 3000)]
    return "\n".join(['\t.file 1 "k.py"', "\t.loc 1 1 0", *lines])


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (listings.mlir, circle()),
        (listings.mlir, doubling()),
        (listings.llvm, inlined()),
        (listings.assembler, located()),
        (listings.assembler, f'\t.file 1 "k.py"\n\t.loc 1 {"9" * 5000} 0 // {"a" * 100_000}'),
        (listings.llvm, f"!1 = !DILocation({'a' * 100_000})\n"),
    ],
)
def test_places_that_go_on_for_ever_end(read: Callable[[str], listings.Listing], text: str) -> None:
    tracemalloc.start()
    found = read(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max((len(chain) for chain in found.chains), default=0) <= 64
    assert peak < 20 << 20


def test_a_stage_with_places_that_were_made_up_is_read(tmp_path: Path) -> None:
    rows: list[Any] = events()[:1]
    texts = rows[0]["payload"]["file_content"]
    texts |= {"add_kernel.ttir": doubling(), "add_kernel.llir": inlined()}
    texts |= {"add_kernel.ttgir": circle(), "add_kernel.ptx": located()}
    rows[0]["payload"]["file_content"]["x.amdgcn"] = f".vgpr_count: {'9' * 5000}\n"
    used(written(tmp_path / "t.ndjson", rows))


def test_blanks_without_end_take_no_quadratic_time() -> None:
    assert read_amd_usage(" " * 300_000 + "\n" * 300_000)["registers"] == 0


LOG_OF_AMD = T4.with_name("mi300x.ndjson.gz")
