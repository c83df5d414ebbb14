"""A sweep as a table for other programs, written and read back."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas
import pytest

import workbench as wb
from tests.worlds.sweeps.views.test_sweep_views import AXES, sweep
from workbench.artifacts.trials.store import Store
from workbench.errors import ArtifactError, UsageError
from workbench.report.trials import Trial
from workbench.worlds.sweeps.sweep import Sweep


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_is_written_and_read_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"s.{ending}"
    sweep().export(path)
    found = wb.Sweep.load(path)
    assert found.trials == sweep().trials
    assert (found.axes, found.sizes, found.expression) == (AXES, ("batch",), "f")
    assert found.best().sentence == sweep().best().sentence
    with pytest.raises(UsageError, match="mode=default, threads=1, batch=1 has no report"):
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
    with pytest.raises(ArtifactError, match=r"a.csv has no readable sweep \('sweep'\)"):
        wb.Sweep.load(tmp_path / "a.csv")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 but nothing else PAR1")
    with pytest.raises(ArtifactError, match=r"a.parquet has no readable sweep"):
        wb.Sweep.load(tmp_path / "a.parquet")
    with pytest.raises(ArtifactError, match="Cannot write"):
        sweep().export(tmp_path / "no folder" / "s.csv")


def test_parquet_without_pyarrow_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"Parquet needs pyarrow: pip install .*or .*\.csv"):
        sweep().export(tmp_path / "s.parquet")
