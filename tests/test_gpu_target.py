"""`make test-gpu` says what it will do on this machine; without a GPU it is no success."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.gpu import __main__ as target
from tests.gpu import page, ranks
from tests.gpu.parts import Part, run_parts
from tests.gpu.record import GpuFigure, GpuRecord


def test_without_a_gpu_it_says_so_and_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert target.main([]) == 5
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("No GPU that torch 2.")
    assert line.endswith("is here: no test of tests/gpu runs.")


HANGS = "import subprocess; subprocess.run(['sleep', '60'])"  # one that holds the pipe open


def stand_in(name: str, code: str, limit: int = 60, needs: tuple[str, ...] = ()) -> Part:
    """A part whose process runs `code`: the plumbing without a device."""
    start = "from tests.gpu.figures import print_figure as figure\n"
    return Part(name, (sys.executable, "-c", start + code), needs, 1, limit)


@pytest.fixture
def a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A card")


@pytest.mark.usefixtures("a_card")
def test_parts_that_run_raise_and_hang_each_keep_their_figures(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    parts = (
        stand_in("whole", "figure('share', 0.9, 'ratio', reach=0.95, rule='>=')"),
        stand_in("raises", "figure('before', 1, 's')\nraise ValueError('no such kernel')"),
        stand_in("hangs", f"figure('early', 2, 's')\n{HANGS}", limit=5),
        stand_in("left out", "", needs=("no_such_package",)),
    )
    path = tmp_path / "gpu.json"
    assert target.main([], parts, path) == 1
    line = capfd.readouterr().out.splitlines()[0]
    assert line.startswith("Runs whole, raises, hangs on A card, torch 2.")
    assert line.endswith("Left out for missing packages: left out (no_such_package).")
    record = GpuRecord.load(path)
    assert [figure.name for figure in record.figures] == ["share", "before", "early"]
    assert [figure.verdict for figure in record.figures] == ["missed", "", ""]
    assert {figure.source for figure in record.figures} == {"measured on A card"}
    assert record.outcomes == {
        "whole": "ran",
        "raises": "failed with exit code 1: ValueError: no such kernel",
        "hangs": "not checked to its end: killed, its limit is 5 s",
        "left out": "not checked: no_such_package is not installed",
    }
    assert target.main(["--show"], parts, path) == 0
    assert "whole | share | 0.9 ratio | >= 0.95 | missed" in capfd.readouterr().out


@pytest.mark.usefixtures("a_card")
def test_a_part_is_run_again_alone_and_the_figures_of_others_stay(tmp_path: Path) -> None:
    path, ends = tmp_path / "gpu.json", "figure('it', {}, 's')"
    first = (stand_in("one", ends.format(1)), stand_in("two", ends.format(2)))
    assert target.main([], first, path) == 0
    again = (stand_in("one", ends.format(3)), first[1])
    assert target.main(["one"], again, path) == 0
    found = {figure.part: figure.value for figure in GpuRecord.load(path).figures}
    assert found == {"one": 3, "two": 2}
    with pytest.raises(SystemExit):
        target.main(["three"], again, path)


@pytest.mark.usefixtures("a_card")
def test_what_takes_times_runs_alone_and_the_others_side_by_side(tmp_path: Path) -> None:
    start = f"import pathlib, time\nhere = pathlib.Path({str(tmp_path)!r})\n"
    wait = (
        start + "(here / '{own}').touch()\n"
        "end = time.monotonic() + 40\n"
        "while not (here / '{other}').exists() and time.monotonic() < end: time.sleep(0.01)\n"
        "figure('met', float((here / '{other}').exists()), '', reach=1, rule='>=')"
    )
    seen = "figure('came last', len([*here.glob('[ab]')]), '', reach=2, rule='>=')"
    timed = replace(stand_in("timed", start + seen), is_timed=True)
    parts = (
        timed,
        stand_in("a", wait.format(own="a", other="b")),
        stand_in("b", wait.format(own="b", other="a")),
    )
    assert target.main([], parts, tmp_path / "gpu.json") == 0
    record = GpuRecord.load(tmp_path / "gpu.json")
    assert [(each.part, each.verdict) for each in record.figures] == [
        *(("timed", "reached"), ("a", "reached"), ("b", "reached")),
    ]


@pytest.mark.usefixtures("a_card")
def test_where_every_part_is_left_out_nothing_ran(tmp_path: Path) -> None:
    parts = (stand_in("left out", "", needs=("no_such_package",)),)
    assert target.main([], parts, tmp_path / "gpu.json") == target.NOTHING_RAN


def test_figures_that_no_run_has_written_are_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert target.main(["--show"], path=tmp_path / "gpu.json") == target.NOTHING_RAN
    assert capsys.readouterr().out.startswith("No run on a GPU has written figures yet")


def test_bounds_are_compared_with_measured_times(capsys: pytest.CaptureFixture[str]) -> None:
    ranks.tell_bounds([(1.0, 2.0), (3.0, 2.5), (4.0, 8.0)])
    told = [json.loads(line.split(": ", 1)[1]) for line in capsys.readouterr().out.splitlines()]
    assert [row["value"] for row in told] == pytest.approx([1.2, 1.0])
    with pytest.raises(ValueError, match="0 kernels have a bound"):
        ranks.tell_bounds([])


def test_other_targets_exclude_the_whole_folder() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not gpu", target.HERE]
    done = subprocess.run(
        command,
        cwd=target.HERE.parents[1],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == target.NOTHING_RAN
    assert re.search(r"no tests collected \(\d+ deselected\)", done.stdout)


def test_a_skipped_test_is_a_figure_that_is_missed(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\n\ndef test_a():\n    pass\n\n\n"
        "@pytest.mark.skip(reason='no such GPU')\ndef test_b():\n    pass\n"
    )
    command = (sys.executable, "-m", "pytest", "-q", "-p", "tests.gpu.counting", str(tmp_path))
    record = GpuRecord({"device": "stand-in"})
    assert not run_parts([Part("tests", command, (), 1, 60)], record, tmp_path / "gpu.json")
    assert [(figure.value, figure.verdict) for figure in record.figures] == [
        (1, "reached"),
        (1, "missed"),
    ]
    assert "no such GPU" in record.figures[1].note


def test_the_page_shows_the_figures_of_the_file() -> None:
    record = GpuRecord.load(target.PATH)
    assert page.on_page(page.PAGE.read_text()) == page.table(record), "python -m tests.gpu --page"


def test_a_row_of_the_page_says_what_was_missed_and_what_was_not_checked() -> None:
    found = {"device": "A card", "torch": "2.11", "build": "13.0", "triton": "3.6"}
    record = GpuRecord(found, outcomes={"files": "failed with exit code 1", "tests": "ran"})
    record.figures = [
        GpuFigure("tests", "share a|b", 0.5, "share", "measured", reach=0.95, rule=">="),
        GpuFigure("files", "it", None, "s", "not measured", note="no reason"),
    ]
    assert page.table(record).splitlines()[-3:] == [
        r"| share a\|b | 0.5, **missed** | ≥ 0.95 |  |",
        "| it | *not checked* |  | no reason |",
        "| the part files | failed with exit code 1 | | |",
    ]
