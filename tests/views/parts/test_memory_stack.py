"""The peak by call stack."""

from __future__ import annotations

from pathlib import Path

from workbench.analysis.memory.memory import memory
from workbench.report import Report
from workbench.views.parts.memory_stack import list_frames
from workbench.views.wire.memory_messages import MemoryFrame

RECORDS = Path(__file__).parents[2] / "records"


def read_frames(record: str) -> tuple[int, list[MemoryFrame]]:
    report = Report.load(RECORDS / f"{record}.wbr")
    usage = memory(report)
    return usage.peak, list_frames(report, usage)


def test_frames_of_a_level_fill_the_peak_from_the_left() -> None:
    peak, frames = read_frames("layers")
    outer = sorted((f for f in frames if not f["depth"]), key=lambda frame: frame["start"])
    assert {"weights", "input", "forward"} <= {frame["name"] for frame in outer}
    at = 0
    for frame in outer:
        assert frame["start"] == at
        at += frame["bytes"]
    assert at == peak


def test_what_is_called_is_inside_its_caller() -> None:
    _, frames = read_frames("layers")
    for frame in frames:
        if frame["depth"]:
            above = [f for f in frames if f["depth"] == frame["depth"] - 1]
            assert any(
                f["start"] <= frame["start"]
                and frame["start"] + frame["bytes"] <= f["start"] + f["bytes"] + 1
                for f in above
            )
    assert max(frame["depth"] for frame in frames) == 4
    assert any(f["id"].startswith("L:") and f["name"].startswith("line 44: ") for f in frames)


def test_without_lines_there_is_no_stack() -> None:
    assert read_frames("norm_h100")[1] == []
