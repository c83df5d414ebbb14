"""What a report says of the file that it was saved to or loaded from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import loading_samples as samples
import pytest

import workbench as wb
from workbench.compiler.aot_files.file_tables import drop_file, with_file
from workbench.report import Report


@pytest.fixture(scope="module")
def compiled() -> Any:
    x, _ = samples.inputs()
    return wb.aot_compile(samples.block(), (x,), capture="light")


def facts(report: Report) -> dict[str, str]:
    return {row.name: row.value for row in report.artifact}


def test_a_saved_file_is_in_the_report(compiled: Any, tmp_path: Path) -> None:
    heard: list[tuple[Report, Report]] = []
    before = compiled.report
    compiled.listen(lambda *reports: bool(heard.append(reports)))
    digest = compiled.save(tmp_path / "block.aot", weights="inside")
    assert heard == [(before, compiled.report)]
    assert facts(compiled.report)["Digest"] == digest
    assert facts(compiled.report)["Weights"] == "in the file"
    members = {row.name: row for row in compiled.report.members}
    assert members["weights.safetensors"].what == "weights"
    assert sum(row.size for row in members.values()) < (tmp_path / "block.aot").stat().st_size
    (x, *own) = compiled.report.contract
    assert (x.side, x.name, x.dtype, x.shape) == ("input", "x", "float32", "[8, 16]")
    assert own[0].name == "self.first.weight"
    assert {row.verdict for row in compiled.report.requirements} == {"pass"}


def test_it_does_not_travel_in_the_file(compiled: Any, tmp_path: Path) -> None:
    compiled.save(tmp_path / "first.aot")
    compiled.save(tmp_path / "second.aot")
    loaded = wb.load(tmp_path / "second.aot", module=samples.block()).report
    assert facts(loaded)["Path"] == str(tmp_path / "second.aot")
    assert len(drop_file(loaded).artifact) == 0
    assert drop_file(Report()) == Report()


def test_a_loaded_file_is_read_when_somebody_looks(compiled: Any, tmp_path: Path) -> None:
    path = tmp_path / "block.aot"
    compiled.save(path)
    loaded, other = (wb.load(path, module=samples.block()).report for _ in range(2))
    assert len(loaded.members) == len(compiled.report.members)
    path.unlink()
    assert len(loaded.members) == len(compiled.report.members)
    assert "the file can no longer be read" in facts(other)["Now"]
    assert len(other.members) == len(other.contract) == 0


def test_another_file_of_that_name_is_not_taken_for_it(compiled: Any, tmp_path: Path) -> None:
    path = tmp_path / "block.aot"
    compiled.save(path, weights="later")
    loaded = wb.load(path, module=samples.block()).report
    compiled.save(path, weights="inside")
    assert facts(loaded)["Now"] == "the file has changed since it was saved or loaded"


def test_torchs_own_file_says_what_it_is(compiled: Any, tmp_path: Path) -> None:
    path = tmp_path / "torch.bin"
    x, y = samples.inputs()
    samples.compiled(samples.scaled, (x, y)).save_compiled_function(str(path))
    shown = with_file(Report(), path, place="here")
    assert facts(shown)["Path"] == "here"
    assert "loading it runs code" in facts(shown)["Kind"]
    assert len(shown.members) == 0
