"""wb.check: what a file for a GPU needs, compared with machines that are only described."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from tests.torchs_file import write_like_torch
from workbench.artifacts.archive import aot_container
from workbench.artifacts.machine.machine_description import (
    GpuFacts,
    Machine,
    describe_current_machine,
)
from workbench.artifacts.manifest.manifest import BuiltFor, GpuKernel, Manifest, Versions
from workbench.artifacts.preflight.preflight import check_fits, check_requirements

HERE = replace(describe_current_machine(), gpus=(), gpu=False, cuda=None, hip=None)
H100 = GpuFacts("NVIDIA H100 80GB HBM3", "sm_90")
THERE = replace(HERE, torch="2.13.0+cu130", triton="3.7.1", cuda="13.0", gpus=(H100,), gpu=True)
BUILT_FOR = BuiltFor(
    gpu="h100",
    device_name=H100.name,
    arch="sm_90a",
    torch="2.13.0+cu130",
    triton="3.7.1",
    toolkit="13.0",
    torch_key="00",
    kernels=(GpuKernel("triton_poi_fused_add_0", "ab" * 32, 16),),
)
MANIFEST = Manifest(
    versions=Versions(HERE.python, HERE.magic, "2.13.0+cpu", "3.7.1"),
    target="h100",
    device="cuda",
    built_for=BUILT_FOR,
)


def verdicts(machine: Machine, **changes: object) -> dict[str, str]:
    manifest = replace(MANIFEST, built_for=replace(BUILT_FOR, **changes))  # type: ignore[arg-type]
    return {row.name: row.verdict for row in check_requirements(manifest, machine)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    members: dict[str, aot_container.Content] = {aot_container.PAYLOAD: b"\x80\x04N."}
    manifest = aot_container.with_members(MANIFEST, members)
    aot_container.write_artifact(tmp_path / "model.aot", manifest, members)
    return tmp_path / "model.aot"


def test_a_manifest_keeps_what_it_was_built_for(path: Path) -> None:
    manifest = wb.inspect(path).manifest
    assert manifest is not None
    assert manifest.built_for == BUILT_FOR


def test_inspect_names_the_gpu(path: Path) -> None:
    shown = repr(wb.inspect(path))
    assert "for h100" in shown
    assert "1 for the GPU in 1 configuration\n" in shown
    for needed in ("NVIDIA H100 80GB HBM3, sm_90a", "torch 2.13.0+cu130", "triton 3.7.1"):
        assert needed in shown
    assert "toolkit CUDA 13.0" in shown


def test_a_machine_with_the_gpu_passes(path: Path) -> None:
    check = wb.check(path, THERE)
    assert check.ok
    assert set(check.frame().verdict) == {"pass"}
    assert list(check.frame().columns) == ["name", "verdict", "needed", "found", "advice"]
    assert {"torch", "triton", "toolkit", "gpu"} <= set(check.frame().name)
    check_fits("model.aot", MANIFEST, THERE)


def test_a_machine_without_it_fails_and_says_why(path: Path) -> None:
    check = wb.check(path, HERE)
    assert not check.ok
    assert "cannot be loaded on a machine with " in repr(check)
    assert "✗ gpu" in repr(check)
    assert "✗ toolkit" in repr(check)
    html = check._repr_html_()
    assert "✗  gpu" in html
    assert "NVIDIA H100 80GB HBM3, sm_90a" in html


def test_a_file_of_torchs_own_needs_a_compiler(tmp_path: Path) -> None:
    (tmp_path / "own.pt").write_bytes(write_like_torch())
    rows = wb.check(tmp_path / "own.pt").frame().set_index("name")
    assert rows.verdict["compiler"] == "not checked"


def test_what_a_description_leaves_out_is_not_checked_and_no_pass(path: Path) -> None:
    check = wb.check(path, {"torch": "2.13.0+cu130"})
    rows = check.frame().set_index("name")
    assert not check.ok
    assert "not checked: " in check.verdict
    assert "can be loaded" not in repr(check)
    assert "? gpu" in repr(check)
    assert rows.verdict["torch"] == rows.verdict["toolkit"] == "pass"
    assert rows.verdict["gpu"] == rows.verdict["triton"] == rows.verdict["python"] == "not checked"
    assert rows.found["gpu"] == "not described"


@pytest.mark.parametrize(
    ("row", "machine", "changes", "verdict"),
    [
        ("gpu", replace(THERE, gpus=(GpuFacts("NVIDIA H200", "sm_90"),)), {}, "warn"),
        ("gpu", replace(THERE, gpus=(GpuFacts("NVIDIA A100", "sm_80"), H100)), {}, "pass"),
        ("gpu", replace(THERE, gpus=(GpuFacts("NVIDIA B200", "sm_100"),)), {}, "fail"),
        ("gpu", replace(THERE, gpus=()), {}, "fail"),
        ("torch", replace(THERE, torch="2.13.0+cu128"), {}, "warn"),
        ("torch", replace(THERE, torch="2.13.0+cu128"), {"torch": "2.13.0"}, "pass"),
        ("torch", replace(THERE, torch="2.14.0+cu130"), {}, "fail"),
        ("toolkit", replace(THERE, cuda="12.8"), {}, "warn"),
        ("toolkit", replace(THERE, cuda="12.8"), {"toolkit": None}, "pass"),
        ("toolkit", replace(THERE, cuda=None, hip="7.0"), {}, "fail"),
        ("triton", replace(THERE, triton="3.7.0"), {}, "warn"),
        ("triton", replace(THERE, triton="3.6.0"), {}, "fail"),
        ("triton", replace(THERE, triton=None), {}, "fail"),
    ],
)
def test_each_difference_has_its_verdict(
    row: str, machine: Machine, changes: dict[str, object], verdict: str
) -> None:
    assert verdicts(machine, **changes)[row] == verdict


def test_the_wrong_gpu_is_one_sentence() -> None:
    with pytest.raises(wb.ArtifactError) as caught:
        check_fits("model.aot", MANIFEST, HERE)
    assert str(caught.value) == (
        "model.aot was compiled for h100 (NVIDIA H100 80GB HBM3, sm_90a), but this machine has no "
        "GPU. Load it on a machine with that GPU, or look inside with wb.inspect('model.aot')."
    )
    other = replace(THERE, gpus=(GpuFacts("NVIDIA A100-SXM4-80GB", "sm_80"),))
    with pytest.raises(wb.ArtifactError, match=r"this machine has NVIDIA A100-SXM4-80GB \(sm_80\)"):
        check_fits("model.aot", MANIFEST, other)
