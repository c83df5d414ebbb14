"""The start of a package: what refuses a file first, what is left then, what is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.artifacts import package_sample as sample
from workbench.artifacts.manifest.manifest import SystemNeeds

ELSEWHERE = SystemNeeds("Plan9", "pdp11", {})


def write(path: Path) -> str:
    return sample.write_package(path, needs=ELSEWHERE).digest


def test_a_file_that_cannot_run_here_says_so_before_it_asks_for_trust(tmp_path: Path) -> None:
    write(tmp_path / "m.pt2")
    with pytest.raises(wb.ArtifactError, match="needs Plan9"):
        wb.load(tmp_path / "m.pt2")


def test_a_trusted_file_that_cannot_run_here_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = write(tmp_path / "m.pt2")
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "copies"))
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(wb.ArtifactError, match="needs Plan9"):
        wb.load(tmp_path / "m.pt2", trust=digest)
    assert list((tmp_path / "copies").iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_to_find_the_loader_imports_nothing_of_the_compiler() -> None:
    code = "import json, sys, workbench; workbench.load; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    ours = {name for name in json.loads(ran.stdout) if name.startswith(("workbench.", "torch"))}
    assert ours == {
        "workbench.api",
        "workbench.api.files",
        "workbench.host",
        "workbench.arguments",
        "workbench.errors",
        "workbench.file_path",
        "workbench.installation",
    }
