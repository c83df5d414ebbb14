"""Sweeps survive the process that made them, and a store may be shared."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from tests.worlds.sweeps.views.test_sweep_views import AXES, sweep
from workbench.artifacts.trials.store import Store
from workbench.compiler.pairs.paired_rounds import Patience
from workbench.errors import UsageError
from workbench.worlds.sweeps.entry import Wanted, run_sweep
from workbench.worlds.sweeps.sweep import Sweep, note
from workbench.worlds.sweeps.trials.strategies import Plan

RECORD = Path(__file__).parents[3] / "records" / "block.wbr"


def with_records() -> Sweep:
    return replace(sweep(), read=lambda trial: RECORD.read_bytes())


def test_a_store_is_opened_alone_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "theirs" / "s.sqlite"
    path.parent.mkdir()
    with_records().export(path)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    before = path.read_bytes()
    try:
        found = wb.Sweep.load(path)
        assert [trial.settings for trial in found.trials] == [t.settings for t in sweep().trials]
        assert found.best().sentence == sweep().best().sentence
        assert found.report(0).request.name
        assert found.axes == AXES
        assert "Opened from s.sqlite" in found.notes[0]
    finally:
        path.parent.chmod(0o755)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["s.sqlite"]


def test_a_real_sweep_can_be_opened_by_its_name(tmp_path: Path) -> None:
    import torch

    path = tmp_path / "s.sqlite"
    plan = Plan(Patience(spread=1.0, budget_s=0.1))
    made = run_sweep(
        torch.relu, (torch.ones(4),), None, Wanted({"backend": ["eager"]}, store=path, plan=plan)
    )
    sweep().export(path)
    assert wb.Sweep.stored(path)["name"].tolist() == ["relu", "f"]
    assert wb.Sweep.load(path, "relu").trials == made.trials
    assert wb.Sweep.load(path, 0).trials == made.trials
    assert wb.Sweep.load(path).name == "f"
    with pytest.raises(UsageError, match=r"s.sqlite has no sweep of 'g'. It has sweeps of relu, f"):
        wb.Sweep.load(path, "g")


def test_what_a_killed_process_has_measured_is_found(tmp_path: Path) -> None:
    path, whole = tmp_path / "s.sqlite", sweep()
    with Store(path) as store:
        note(replace(whole, trials=()), store, "one")
        for trial in reversed(whole.trials[:3]):
            store.keep("one", trial)
    assert wb.Sweep.load(path).trials == whole.trials[:3]


def test_an_empty_store_says_so(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite").close()
    with pytest.raises(UsageError, match="has no sweep yet"):
        wb.Sweep.load(tmp_path / "s.sqlite")


def test_opening_a_store_needs_no_torch(tmp_path: Path) -> None:
    sweep().export(tmp_path / "s.sqlite")
    program = (
        "import sys; sys.modules['torch'] = None; import workbench as wb; "
        "found = wb.Sweep.load('s.sqlite'); print(len(found.frame()), found.best().settings)"
    )
    root = os.fspath(Path(__file__).parents[4])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "12 {'mode': 'max-autotune', 'threads': '2'}", done.stderr
