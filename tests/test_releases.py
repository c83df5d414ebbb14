"""Files that earlier releases wrote are still read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import workbench as wb
from tests.records.record_release import sums
from workbench.errors import ArtifactError

RECORDS = Path(__file__).parent / "records"
RELEASES = sorted(RECORDS.glob("v*"))
by_release = pytest.mark.parametrize("folder", RELEASES, ids=lambda folder: folder.name)


@by_release
def test_a_record_opens_and_answers(folder: Path) -> None:
    report = wb.Report.load(folder / "block.wbr")
    assert report.request.name == "Release"
    assert report.outcome.ok
    assert list(report.frame("kernels")["language"]) == ["extern", "cpp", "extern", "cpp"]


@pytest.mark.parametrize("torch_release", ["2.11", "2.12", "2.14", "2.15"])
def test_a_record_that_another_torch_made_opens_and_is_shown(torch_release: str) -> None:
    report = wb.Report.load(RECORDS / f"torch_{torch_release}.wbr")
    assert report.environment.torch.startswith(f"{torch_release}.")
    assert list(report.frame("kernels")["language"]) == ["extern", "cpp", "extern", "cpp"]
    assert all(report.frame("capabilities")["available"])
    assert torch_release in report.to_html()


def test_an_artifact_names_the_torch_that_it_needs_and_is_made_again_with_this_one() -> None:
    path = RECORDS / "torch_2.15.aot"
    rows = {row.name: row for row in wb.check(path).requirements}
    assert (rows["torch"].needed, rows["python"].needed) == ("2.15.0", "3.13")
    if rows["torch"].verdict == "fail":
        with pytest.raises(ArtifactError, match=r"torch: needs 2\.15\.0, this machine has") as told:
            wb.load(path, trust=wb.inspect(path).digest)
        assert "wb.recompile(" in str(told.value)
    x, y = torch.randn(4, 8), torch.randn(4, 8)
    torch.testing.assert_close(wb.recompile(path)(x, y), sums(x, y))


@by_release
def test_an_artifact_loads_and_computes_what_it_did(folder: Path) -> None:
    missing = [row for row in wb.check(folder / "block.aot").requirements if row.verdict == "fail"]
    if missing:
        pytest.skip(f"the artifact needs {missing[0].name}")
    kept = torch.load(folder / "tensors.pt", weights_only=True)
    loaded = wb.load(folder / "block.aot", trust=wb.inspect(folder / "block.aot").digest)
    torch.testing.assert_close(loaded(kept["x"]), kept["y"])


@by_release
def test_a_package_loads_and_computes_what_it_did(folder: Path) -> None:
    missing = [row for row in wb.check(folder / "block.pt2").requirements if row.verdict == "fail"]
    if missing:
        pytest.skip(f"the package needs {missing[0].name}")
    kept = torch.load(folder / "tensors.pt", weights_only=True)
    with wb.load(folder / "block.pt2", trust=wb.inspect(folder / "block.pt2").digest) as package:
        torch.testing.assert_close(package(kept["x"]), kept["y"])


@by_release
@pytest.mark.parametrize("name", ["sums.csv", "sums.sqlite"])
def test_a_sweep_opens_with_its_rows(folder: Path, name: str) -> None:
    found = wb.Sweep.load(folder / name)
    assert list(found.frame()["status"]) == ["done", "done"]


@by_release
def test_a_session_opens_with_its_compiles_and_breaks(folder: Path) -> None:
    session = wb.Session.load(folder / "parted.wbs")
    kinds = list(session.frame("compiles")["kind"])
    assert kinds == ["first", "resume", "recompile", "recompile"]
    assert list(session.frame("breaks")["text"]) == ["torch._dynamo.graph_break()"]
    assert session.frame("recompiles")["guard"].str.endswith("expected 3, actual 4").all()
    assert "graph_break" in session.to_html()


@by_release
@pytest.mark.parametrize("name", ["block.aot", "block.pt2"])
def test_what_is_inside_can_be_told(folder: Path, name: str) -> None:
    found = wb.inspect(folder / name)
    assert "x float32[4, 8] cpu" in repr(found)


def test_the_changelog_and_the_kept_files_have_this_version() -> None:
    changelog = (RECORDS.parents[1] / "CHANGELOG.md").read_text("utf-8")
    versions = re.findall(r"^## (\d+\.\d+\.\d+)$", changelog, re.MULTILINE)
    assert versions[0] == wb.__version__
    assert [f"v{version.replace('.', '_')}" for version in reversed(versions)] == [
        folder.name for folder in RELEASES
    ]
