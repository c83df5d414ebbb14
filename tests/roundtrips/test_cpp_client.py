"""A package's client in C++ as one more way of a round trip."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import loading_samples as samples
import pytest
import torch

import workbench as wb
from workbench.compiler.cpp_project import project

X = torch.randn(8, 16)


def packaged(path: Path, **more: Any) -> Any:
    torch.manual_seed(0)
    model = samples.Doubled(torch.nn.Linear(16, 4)).eval()
    return wb.package(model, (X,), path=path / "doubled.pt2", capture="light", **more)


def test_a_function_has_no_client_and_says_why() -> None:
    compiled = wb.aot_compile(samples.scaled, samples.inputs(), grad=False)
    trip = wb.roundtrip(compiled, samples.inputs(), ways="cpp")
    assert "only packages have a C++ client" in (trip.way("cpp").note or "")
    assert not trip.ok


def test_without_cmake_or_a_compiler_it_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "CMakeLists.txt").write_text("project(none LANGUAGES CXX)\n")
    found = {name: project._tool(name) for name in ("cmake", "ninja")}
    monkeypatch.setattr(project, "_tool", {}.get)
    with pytest.raises(wb.WorkbenchError, match=r"CMake was not found: pip install cmake\.\n"):
        project.build(tmp_path, "latency")
    if None in found.values():
        pytest.skip("no CMake or no Ninja")
    monkeypatch.setattr(project, "_tool", found.get)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(wb.WorkbenchError, match="no compiler was found: install one, such as g"):
        project.build(tmp_path, "latency")


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["inside", "later"])
def test_the_client_gives_the_same_numbers_in_less_memory(tmp_path: Path, weights: str) -> None:
    if project._tool("cmake") is None or shutil.which("c++") is None:
        pytest.skip("no CMake or no compiler")
    package = packaged(tmp_path, weights=weights)
    trip = wb.roundtrip(package, (X,), ways=("eager", "ours", "cpp"))
    assert [(w.way, w.ran, w.ok) for w in trip.ways] == [
        (name, True, True) for name in ("eager", "ours", "cpp")
    ], trip
    client, ours = trip.way("cpp"), trip.way("ours")
    assert client.max_abs_error == ours.max_abs_error
    assert client.steady_calls == ours.steady_calls == 1000
    assert 0 < (client.steady_s or 0) <= (client.steady_p99_s or 0)
    assert (client.peak_rss_bytes or 0) < (ours.peak_rss_bytes or 0)
    phases = [phase.phase for phase in trip.phases if phase.way == "cpp"]
    assert phases == ["start", "inputs", "load", "first_call"]
    assert {leaf.leaf for leaf in trip.leaves if leaf.way == "cpp"} == {"output['twice']"}
    assert "C++ client" in repr(trip)
