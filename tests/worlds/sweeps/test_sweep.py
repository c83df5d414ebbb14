from __future__ import annotations

import json
from pathlib import Path

import pytest

import workbench as wb
from tests.worlds.sweeps.views.test_sweep_views import sweep
from workbench.command_line.main import main


@pytest.mark.parametrize("ending", ["csv", "sqlite"])
def test_the_commands_show_one_that_was_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    path = tmp_path / f"s.{ending}"
    sweep().export(path)
    assert main(["report", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Sweep of f\n")
    assert sweep().best().sentence in shown
    assert main(["report", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["sentences"][0] == repr(sweep())
    (table,) = document["tables"]
    assert (table["name"], len(table["rows"])) == ("trials", len(sweep()))


def test_rows_are_compared_and_not_sweeps() -> None:
    with pytest.raises(wb.UsageError, match=r"sweep\.diff\(0, 1\)"):
        wb.diff(sweep(), sweep())
