"""Trials and sweeps survive the process that made them, and a store may be shared."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

import workbench as wb
from tests.views.sweep.test_sweep_views import AXES, sweep
from workbench.analysis.sweep.store import Store
from workbench.analysis.sweep.sweep import Sweep, note
from workbench.compiler.pairs.paired_rounds import Patience
from workbench.errors import ArtifactError, UsageError
from workbench.report.trials import Trial
from workbench.sweeps.entry import Wanted, run_sweep
from workbench.sweeps.strategies import Plan

SETTINGS = (("mode", "default"), ("batch", "8"))


def trial(key: str = "k1", **more: object) -> Trial:
    return Trial(key, SETTINGS, call_us=12.5, samples_us=((12.0, 13.0), (20.0, 21.0)), **more)


def test_a_kept_trial_is_found_again(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.keep("sweep", trial())
    with Store(tmp_path / "s.sqlite") as store:
        assert store.find(["k1", "k2"]) == {"k1": trial()}
        assert store.trials("sweep") == [trial()]
        assert store.trials("another") == []


def test_many_keys_are_found_at_once(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        for n in range(1200):
            store.keep("sweep", trial(f"k{n}"))
        assert len(store.find(f"k{n}" for n in range(0, 2400))) == 1200


def test_the_record_is_kept_once_and_given_back(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        kept = [store.keep("sweep", trial(key), b"the record") for key in ("k1", "k2")]
        assert store.report(kept[0]) == b"the record"
        assert kept[0].report == kept[1].report
        assert store.report(trial("k3")) is None


@pytest.mark.parametrize("status", ["crashed", "timeout", "out of memory", "cancelled"])
def test_what_may_end_otherwise_is_tried_again(tmp_path: Path, status: str) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.keep("sweep", trial(status=status))
        assert store.find(["k1"]) == {}


@pytest.mark.parametrize("status", ["done", "failed", "wrong"])
def test_what_ends_the_same_way_is_kept(tmp_path: Path, status: str) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.keep("sweep", trial(status=status, reason="why"))
        assert store.find(["k1"])["k1"].reason == "why"


def test_a_read_only_store_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "shared" / "s.sqlite"
    with Store(path) as store:
        store.keep("sweep", trial())
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with Store(path, read_only=True) as store:
            assert store.find(["k1"]) == {"k1": trial()}
            with pytest.raises(UsageError, match="read-only"):
                store.keep("sweep", trial("k2"))
        assert [file.name for file in path.parent.iterdir()] == ["s.sqlite"]
    finally:
        path.parent.chmod(0o755)


def test_threads_may_write_at_once(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store, Store(tmp_path / "s.sqlite") as other:
        threads = [
            threading.Thread(target=lambda s=s, n=n: s.keep("sweep", trial(f"{n}")))
            for n, s in enumerate([store, other] * 10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.trials()) == 20


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").write_bytes(b"no database at all, but long enough to look at it")
    with pytest.raises(ArtifactError, match="no store of sweeps"):
        Store(tmp_path / "x.sqlite")
    with pytest.raises(ArtifactError, match="There is no store"):
        Store(tmp_path / "missing.sqlite", read_only=True)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite").close()
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        connection.execute("UPDATE about SET value = '2'")
    for read_only in (False, True):
        with pytest.raises(ArtifactError, match="schema 2, this workbench reads up to 1"):
            Store(tmp_path / "s.sqlite", read_only=read_only)


RECORD = Path(__file__).parents[2] / "records" / "block.wbr"


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
    with pytest.raises(UsageError, match=r"no sweep of 'g' in s.sqlite. It holds those of relu, f"):
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
    with pytest.raises(UsageError, match="holds no sweep yet"):
        wb.Sweep.load(tmp_path / "s.sqlite")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_is_written_and_read_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"s.{ending}"
    sweep().export(path)
    found = wb.Sweep.load(path)
    assert found.trials == sweep().trials
    assert (found.axes, found.sizes, found.expression) == (AXES, ("batch",), "f")
    assert found.best().sentence == sweep().best().sentence
    with pytest.raises(UsageError, match="no record of mode=default, threads=1, batch=1"):
        found.report(0)


def test_other_programs_find_numbers_and_names(tmp_path: Path) -> None:
    sweep().export(tmp_path / "s.parquet")
    found = pandas.read_parquet(tmp_path / "s.parquet")
    assert found.groupby("batch")["speedup"].max().index.tolist() == [1, 8, 32]
    assert set(found["mode"]) == {"default", "max-autotune"}
    assert found["call_us"].dtype.kind == "f"


def test_an_axis_may_be_called_like_a_figure_and_may_be_missing(tmp_path: Path) -> None:
    rows = (
        Trial("a", (("kernels", "007"), ("mode", "default")), kernels=3, reason='a "b",\nc'),
        Trial("b", (("kernels", "1.50"),), kernels=None, speedup=0.1 + 0.2),
    )
    odd = Sweep("f", {"kernels": ("007", "1.50"), "mode": ("default",)}, (), rows)
    for ending in ("csv", "parquet"):
        odd.export(tmp_path / f"s.{ending}")
        assert wb.Sweep.load(tmp_path / f"s.{ending}").trials == rows


def test_a_table_becomes_a_store_that_answers(tmp_path: Path) -> None:
    sweep().export(tmp_path / "s.csv")
    wb.Sweep.load(tmp_path / "s.csv").export(tmp_path / "s.sqlite")
    keys = [trial.key for trial in sweep().trials if trial.status == "done"]
    with Store(tmp_path / "s.sqlite", read_only=True) as store:
        assert store.find(keys).keys() == set(keys)


def test_other_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"s.xlsx: expected the ending .sqlite .*, .parquet or"):
        sweep().export(tmp_path / "s.xlsx")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ArtifactError, match=r"a.csv holds no sweep that can be read \('sweep'\)"):
        wb.Sweep.load(tmp_path / "a.csv")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 but nothing else PAR1")
    with pytest.raises(ArtifactError, match=r"a.parquet holds no sweep"):
        wb.Sweep.load(tmp_path / "a.parquet")
    with pytest.raises(ArtifactError, match="Cannot write"):
        sweep().export(tmp_path / "no folder" / "s.csv")


def test_parquet_without_pyarrow_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"Parquet needs pyarrow: pip install .*or .*\.csv"):
        sweep().export(tmp_path / "s.parquet")


def test_opening_a_store_needs_no_torch(tmp_path: Path) -> None:
    sweep().export(tmp_path / "s.sqlite")
    program = (
        "import sys; sys.modules['torch'] = None; import workbench as wb; "
        "found = wb.Sweep.load('s.sqlite'); print(len(found.frame()), found.best().settings)"
    )
    root = os.fspath(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "12 {'mode': 'max-autotune', 'threads': '2'}", done.stderr
