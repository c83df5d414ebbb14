"""Files that are not on a disk, or are open already, are loaded, inspected and checked too."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest
import torch

import workbench as wb

X = torch.randn(4, 8)


def test_bytes_in_memory_and_open_files_are_as_good_as_a_path(tmp_path: Path) -> None:
    place = tmp_path / "sin.aot"
    digest = wb.aot_compile(torch.sin, (X,), backend="eager").save(place)
    content = io.BytesIO(place.read_bytes())
    content.seek(7)  # wherever it stands
    assert wb.inspect(content).digest == digest
    assert wb.check(content).ok
    loaded = wb.load(content)
    torch.testing.assert_close(loaded(X), X.sin())
    assert loaded.report.frame("artifact") is not None
    with place.open("rb") as file:
        assert wb.inspect(file).path == str(place)
    with pytest.raises(wb.UsageError, match="mode 'rb'"):
        wb.inspect(io.StringIO("text"))


def test_a_bare_library_is_looked_at_and_not_run(tmp_path: Path) -> None:
    source = "extern int aoti_torch_cpu_addmm_out(); int AOTInductorModelContainerRun() { return"
    (tmp_path / "model.c").write_text(f"{source} aoti_torch_cpu_addmm_out(); }}")
    place = tmp_path / "model.so"
    command = ["gcc", "-shared", "-fPIC", str(tmp_path / "model.c"), "-o", str(place)]
    subprocess.run(command, check=True)
    found = wb.inspect(place)
    assert found.kind == "library"
    assert found.notes[0] == "made by AOTInductor"
    assert "AOTInductorModelContainerRun" in set(found.frame("symbols").name)
    checked = {row.name: row.verdict for row in wb.check(place).requirements}
    assert checked == {"inputs and outputs": "fail", "torch's C interface": "pass"}
    with pytest.raises(wb.ArtifactError, match=r"wb\.inspect"):
        wb.load(place, trust=True)
