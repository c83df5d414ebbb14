"""On macOS and Windows, and without torch, files are read and shown; the rest is one sentence.

Both systems are imitated (see reading_elsewhere.py): neither has run this.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.reading_elsewhere import LACKS, RECORDS
from workbench.errors import WorkbenchError
from workbench.host import require_torch

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module", params=LACKS)
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("pages")
    command = [sys.executable, "-m", "tests.reading_elsewhere", request.param, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_report_is_read_rendered_and_saved_again(answers: dict[str, Any]) -> None:
    assert answers["report"] == "Report(Block, host, ok, 16 kernels, 0 breaks, 93 guards)"
    assert answers["table"] == 16
    assert answers["page"] > 100_000  # characters: one page with all of it
    assert answers["GPU"] == "Report(normalised, h100, ok, 2 kernels, 0 breaks, 11 guards)"
    assert answers["saved again"] == "None"


def test_what_is_computed_of_a_record_and_shown_of_it_needs_no_torch(
    answers: dict[str, Any],
) -> None:
    training = wb.Report.load(RECORDS / "training.wbr")
    assert answers["memory"] == wb.memory(training).peak
    assert answers["opportunities"] == repr(wb.opportunities(training))
    assert answers["launches"].startswith("Launches(2 kernels on h100, modelled)")
    assert answers["chart"] == "'Figure'"
    assert answers["shown"] > 500
    assert answers["live view"] == "'DiffView'"


@pytest.mark.world("logs")
def test_a_log_a_diff_and_a_sweep_are_read(answers: dict[str, Any]) -> None:
    assert (
        answers["log"] == "Trace(scores, looping, scaled, cpu, ok, 12 kernels, 2 breaks, 50 guards)"
    )
    assert answers["kernel log"].startswith("Report(add_kernel, product_kernel, sm_75, ok")
    assert answers["diff"].startswith("Diff(Block → loss)")
    assert answers["diff page"] > 100_000
    assert answers["sweep"] == 2


def test_what_is_inside_of_a_file_and_what_it_needs_can_be_told(answers: dict[str, Any]) -> None:
    assert answers["artifact"].startswith("ArtifactReport(block.aot: artifact of this workbench")
    assert answers["package"].startswith("ArtifactReport(block.pt2: package of this workbench")
    assert {"torch", "system", "processor"} <= answers["preflight"].keys()


def test_what_needs_linux_says_so(answers: dict[str, Any]) -> None:
    for name, function in (("compile", "aot_compile"), ("load", "load")):
        assert answers[name].startswith(f"WorkbenchError: {function} needs Linux: run it there.")


def test_what_needs_torch_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    @require_torch
    def compiling() -> None:
        raise AssertionError("it must not be reached")

    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(WorkbenchError, match=r"compiling needs torch: install it"):
        compiling()


def test_the_functions_keep_their_names_and_parameters() -> None:
    assert wb.aot_compile.__name__ == "aot_compile"
    assert "target" in wb.aot_compile.__annotations__
