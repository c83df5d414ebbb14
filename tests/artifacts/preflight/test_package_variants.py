"""Variants of a packaged model: which of them a machine runs, the best first, and why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.artifacts import package_sample as sample
from workbench.artifacts.inspect.inspection import inspect
from workbench.artifacts.machine.devices import GpuFacts
from workbench.artifacts.machine.machine_description import Machine, describe_current_machine
from workbench.artifacts.manifest.manifest_json import Build
from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.artifacts.preflight.check import check
from workbench.artifacts.preflight.package_preflight import sort_fitting_variants
from workbench.artifacts.preflight.package_variants import choose_variant
from workbench.errors import ArtifactError

HERE = replace(describe_current_machine(), torch="2.13.0+cpu", gpu=False, gpus=(), cuda=None)
H100 = replace(
    HERE,
    torch="2.13.0+cu130",
    gpu=True,
    gpus=(GpuFacts("NVIDIA H100 80GB HBM3", "sm_90"),),
    cuda="13.0",
    driver="580.82.07",
)
OLD = replace(HERE, cpu_flags=frozenset({"sse4_1"}))

ANY = sample.model(name="any", isa=Build("x86-64", "scalar", ()), torch="2.13.0+cpu")
WIDE = sample.model(name="wide", isa=Build("avx2", "avx2", ("sse4_1", "avx2")), torch="2.13.0")
GPU = sample.model(
    name="gpu", device="cuda", isa=None, torch="2.13.0+cu130", target="h100", arch="sm_90a"
)


def manifest(*models: PackagedModel) -> PackageManifest:
    return sample.manifest(*models, are_variants=True)


def names(machine: Machine, *models: PackagedModel) -> list[str]:
    fits = sort_fitting_variants(manifest(*models), machine)
    return [fit.name if fit.fits else f"not {fit.name}" for fit in fits]


def test_those_that_fit_come_first_and_a_gpu_before_the_widest_vectors() -> None:
    wide = replace(HERE, cpu_flags=HERE.cpu_flags | {"sse4_1", "avx2"})
    assert names(wide, ANY, GPU, WIDE) == ["wide", "any", "not gpu"]
    gpu = replace(H100, cpu_flags=wide.cpu_flags)
    assert names(gpu, ANY, GPU, WIDE) == ["gpu", "wide", "any"]
    assert names(OLD, ANY, GPU, WIDE) == ["any", "not gpu", "not wide"]


def test_code_for_another_gpu_does_not_fit() -> None:
    a100 = replace(H100, gpus=(GpuFacts("NVIDIA A100-SXM4-80GB", "sm_80"),))
    (fit,) = sort_fitting_variants(manifest(GPU), a100)
    assert not fit.fits
    assert fit.made_for == "cuda, h100 (sm_90a)"
    assert "it needs gpu machine code sm_90a, found NVIDIA A100-SXM4-80GB (sm_80)" in fit.why


def test_the_preflight_fails_only_where_no_variant_fits(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    sample.write_package(path, ANY, GPU, are_variants=True)
    found = check(path, HERE)
    assert found.ok
    rows = {row.name: (row.verdict, row.advice) for row in found.requirements}
    assert rows["variant any"] == ("pass", "")
    assert rows["variant gpu"] == ("warn", "another variant is used")

    sample.write_package(path, GPU, are_variants=True)
    assert [row.name for row in check(path, HERE).requirements if row.verdict == "fail"] == [
        "variant gpu"
    ]


def test_the_x_ray_has_a_row_for_each_variant(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    sample.write_package(path, ANY, GPU, are_variants=True)
    rows = inspect(path).frame("variants").set_index("name")
    assert rows.made_for.to_dict() == {"any": "cpu, x86-64", "gpu": "cuda, h100 (sm_90a)"}
    assert rows.torch["gpu"] == "2.13.0+cu130"
    assert rows.inputs["any"] == "x float32[batch in 2..512, 64]"
    sample.write_package(path)
    assert inspect(path).frame("variants").empty


def test_a_variant_that_cannot_be_meant_is_refused_in_a_sentence() -> None:
    fits = sort_fitting_variants(manifest(ANY, GPU), HERE)
    assert choose_variant("m.pt2", fits, None) == "any"
    assert choose_variant("m.pt2", fits, "any") == "any"
    with pytest.raises(ArtifactError, match="has no variant 'tpu': name one of any, gpu"):
        choose_variant("m.pt2", fits, "tpu")
    with pytest.raises(ArtifactError) as error:
        choose_variant("m.pt2", fits, "gpu")
    assert str(error.value).startswith(
        "m.pt2 cannot run its variant 'gpu' (cuda, h100 (sm_90a)): it needs torch 2.13.0+cu130"
    )
    assert str(error.value).endswith("Load another: wb.load('m.pt2', variant='any').")
    older = replace(WIDE, isa=Build("avx9", "avx9", ("avx9",)))
    with pytest.raises(ArtifactError, match="no variant that this machine can run:\n  variant"):
        choose_variant("m.pt2", sort_fitting_variants(manifest(GPU, older), HERE), None)


def test_of_several_that_fit_the_inputs_decide() -> None:
    fits = sort_fitting_variants(manifest(ANY, replace(ANY, name="other")), HERE)
    assert choose_variant("m.pt2", fits, None) is None
