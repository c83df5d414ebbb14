"""Folders of ranks, and folders that mix what does not belong together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.worlds.profiles.reading.synthetic_trace import SyntheticTrace, build_step


def write_rank(folder: Path, rank: int, layers: int = 1, **head: Any) -> None:
    made = build_step(layers)
    said = {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": 0}
    made.head |= {**said, **head}
    made.write(folder / f"rank{rank}.json.gz")


def test_ranks_are_one_profile_with_a_column(tmp_path: Path) -> None:
    write_rank(tmp_path, 0)
    write_rank(tmp_path, 1, layers=2)
    p = wb.read_profile(tmp_path)
    assert (p.total_us, p.header.rank) == (294.0, 1)
    assert list(p.frame("ranks")["rank"]) == [0, 1]
    kernels = p.frame("kernels")
    assert list(kernels["rank"]) == [0, 0, 0, 1, 1, 1]
    assert kernels["id"].is_unique
    assert set(p.frame("events").kernel) == set(kernels["id"])
    assert p.notes[0] == "2 ranks; times are from rank 1, the longest."
    assert "clocks" not in " ".join(p.notes)


def test_a_mixed_folder_is_said_to_be_one(tmp_path: Path) -> None:
    write_rank(tmp_path, 0)
    write_rank(
        tmp_path, 1, deviceProperties=[{"id": 0, "name": "NVIDIA H200"}], baseTimeNanoseconds=10**18
    )
    (tmp_path / "notes.json").write_text('{"a": 1}')
    notes = " ".join(wb.read_profile(tmp_path).notes)
    assert "mixes traces of several devices" in notes
    assert "their clocks differ" in notes
    assert "notes.json is not a trace" in notes


def test_files_of_one_rank_are_numbered_by_their_names(tmp_path: Path) -> None:
    for name in ("rank3.json", "rank5.json"):
        build_step(1).write(tmp_path / name)
    assert list(wb.read_profile(tmp_path).frame("ranks")["rank"]) == [3, 5]


def test_a_missing_rank_is_said(tmp_path: Path) -> None:
    write_rank(tmp_path, 0)
    notes = wb.read_profile(tmp_path).notes
    assert notes[0] == "The run had 2 ranks, the folder has 1."
    assert "longest" not in " ".join(notes)


def test_a_trace_of_the_cpu_alone_is_not_what_the_times_are_of(tmp_path: Path) -> None:
    write_rank(tmp_path, 0)
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0.0, "dur": 1e6}
    ]
    (tmp_path / "rank1.json").write_text(json.dumps({"traceEvents": events}))
    p = wb.read_profile(tmp_path)
    assert not p.header.on_cpu
    said = "2 ranks; times are from rank 0, the longest with GPU work."
    assert said in p.notes


def test_a_folder_without_a_trace(tmp_path: Path) -> None:
    with pytest.raises(wb.UsageError, match="has no trace"):
        wb.read_profile(tmp_path)
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(wb.ArtifactError, match="has no readable trace"):
        wb.read_profile(tmp_path)


def test_a_trace_of_one_file_has_no_rank(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("k", 0.0, 1.0, 1.0)
    p = wb.read_profile(trace.write(tmp_path / "t.json"))
    assert "rank" not in p.frame("kernels")
