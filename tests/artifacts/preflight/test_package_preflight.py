"""Whether a package fits a machine: here, elsewhere, for a processor, a GPU and its driver."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.artifacts import package_sample as sample
from tests.artifacts.archive.test_package_container import write_as_torch
from workbench.artifacts.archive.package_container import read_package_container
from workbench.artifacts.inspect.inspection import inspect
from workbench.artifacts.machine.machine_description import (
    GpuFacts,
    Machine,
    describe_current_machine,
)
from workbench.artifacts.manifest.manifest import Build, SystemNeeds, Versions
from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.artifacts.preflight.check import check
from workbench.artifacts.preflight.package_preflight import (
    check_package_fits,
    choose_variant,
    sort_fitting_variants,
    torch_row,
)
from workbench.artifacts.preflight.preflight import GpuCode, list_code_rows
from workbench.artifacts.zip_files.members import read_frame
from workbench.errors import ArtifactError

HERE = describe_current_machine()
GPU = replace(
    HERE,
    torch="2.13.0+cu130",
    gpu=True,
    gpus=(GpuFacts("NVIDIA H100 80GB HBM3", "sm_90"),),
    cuda="13.0",
    driver="580.82.07",
)


def verdicts(path: Path, machine: Machine | None = None) -> dict[str, str]:
    return {row.name: row.verdict for row in check(path, machine).requirements}


def test_a_package_made_here_fits_here(tmp_path: Path) -> None:
    sample.write_package(tmp_path / "m.pt2")
    found = check(tmp_path / "m.pt2")
    assert found.ok
    assert {row.verdict for row in found.requirements} == {"pass"}


def test_each_difference_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    build = Build("avx512", "avx512", ("no_such_flag",))
    needs = SystemNeeds("Plan9", "pdp11", {"GLIBC": "99.0"})
    sample.write_package(path, sample.model(isa=build), needs=needs)
    failed = {name for name, verdict in verdicts(path).items() if verdict == "fail"}
    assert failed == {"system", "processor", "GLIBC", "instructions"}
    with path.open("rb") as file, pytest.raises(ArtifactError, match=r"GLIBC: needs 99\.0"):
        check_package_fits("m.pt2", read_package_container(read_frame(file)), HERE)


@pytest.mark.parametrize(
    ("made", "there", "verdict"),
    [
        ("2.13.0+cpu", "2.13.0+cpu", "pass"),
        ("2.13.0+cpu", "2.13.0+cu130", "pass"),
        ("2.13.0+cpu", "2.13.1+cpu", "pass"),
        ("2.13.0+cpu", "2.14.0+cpu", "warn"),
        ("2.13.0+cpu", "2.12.1+cpu", "fail"),
        ("2.13.0+cpu", "", "fail"),
    ],
)
def test_releases_of_torch_for_a_cpu(made: str, there: str, verdict: str) -> None:
    assert torch_row(made, ["cpu"], replace(HERE, torch=there)).verdict == verdict


@pytest.mark.parametrize(
    ("made", "there", "verdict"),
    [
        ("2.13.0+cu130", "2.13.0+cu130", "pass"),
        ("2.13.0+cu130", "2.13.0+cu131", "warn"),
        ("2.13.0+cu130", "2.13.0+cu128", "fail"),
        ("2.13.0+cu130", "2.13.0+cpu", "fail"),
        ("2.13.0+cu130", "2.14.0+cu130", "warn"),
    ],
)
def test_releases_of_torch_for_a_gpu(made: str, there: str, verdict: str) -> None:
    assert torch_row(made, ["cuda"], replace(HERE, torch=there)).verdict == verdict


def test_machine_code_toolkit_and_driver_of_a_gpu() -> None:
    def found(code: GpuCode, machine: Machine = GPU) -> dict[str, str]:
        return {row.name: row.verdict for row in list_code_rows([code], (13, 0), machine)}

    whole = {"gpu": "pass", "toolkit": "pass", "driver": "pass"}
    assert found(GpuCode("machine code", "sm_90")) == whole
    assert found(GpuCode("PTX", "sm_80")) == whole
    assert found(GpuCode("machine code", "sm_80"))["gpu"] == "fail"
    assert found(GpuCode("bundle", ""))["gpu"] == "not checked"
    old = replace(GPU, driver="535.104.05", cuda="12.2")
    assert found(GpuCode("PTX", "sm_80"), old) == {**whole, "toolkit": "fail", "driver": "fail"}


def test_a_package_for_a_gpu_is_checked_by_its_code(tmp_path: Path) -> None:
    header = bytearray(sample.SHARED_LIBRARY.read_bytes())
    header[7], header[0x12:0x14], header[0x30:0x34] = (
        0x33,
        (190).to_bytes(2, "little"),
        (90).to_bytes(4, "little"),
    )
    code = f"{sample.CODE}/kernel.cubin"
    path = tmp_path / "m.pt2"
    versions = Versions(HERE.python, HERE.magic, "2.13.0+cu130")
    members = {**sample.parts(), code: bytes(header)}
    sample.write_package(path, sample.model(device="cuda"), members=members, versions=versions)
    assert verdicts(path, GPU)["gpu"] == "pass"
    here = verdicts(path)
    assert here["device"] == "fail" or HERE.gpu
    older = replace(GPU, gpus=(GpuFacts("NVIDIA A100", "sm_80"),))
    assert verdicts(path, older)["gpu"] == "fail"


def test_weights_that_come_later_are_a_warning(tmp_path: Path) -> None:
    later = sample.model(weights="later", constants=(sample.weight(member=None),))
    sample.write_package(tmp_path / "m.pt2", later)
    assert verdicts(tmp_path / "m.pt2")["weights"] == "warn"


def test_a_package_of_torch_is_checked_by_its_metadata(tmp_path: Path) -> None:
    facts = {
        "AOTI_CPU_ISA": "AVX512 AVX512_VNNI",
        "AOTI_DEVICE_KEY": "cpu",
        "AOTI_MACHINE": "x86_64",
        "AOTI_PLATFORM": "linux",
    }
    members = {
        f"{sample.CODE}/m.so": sample.SHARED_LIBRARY.read_bytes(),
        f"{sample.CODE}/m_metadata.json": json.dumps(facts).encode(),
        "archive_format": b"pt2",
    }
    path = tmp_path / "m.pt2"
    write_as_torch(path, members)
    intel = frozenset(("avx512f", "avx512dq", "avx512vl", "avx512bw", "avx512_vnni"))
    there = replace(HERE, machine="x86_64", system="Linux", cpu_flags=intel)
    assert verdicts(path, there)["instructions"] == "warn"
    lesser = replace(there, cpu_flags=intel - {"avx512_vnni"})
    assert verdicts(path, lesser)["instructions"] == "fail"
    with path.open("rb") as file, pytest.raises(ArtifactError, match="without avx512_vnni"):
        check_package_fits("m.pt2", read_package_container(read_frame(file)), lesser)


def test_a_machine_describes_itself_for_others(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench.machine"], capture_output=True, text=True, check=True
    )
    (tmp_path / "target.json").write_text(done.stdout)
    there = Machine.of(tmp_path / "target.json")
    # which libstdc++ is found first depends on whether torch is loaded
    assert there == replace(HERE, modules=there.modules, symbols=there.symbols)
    assert there.symbols.keys() == HERE.symbols.keys()
    assert {"torch", "numpy", "os"} <= there.modules
    sample.write_package(tmp_path / "m.pt2")
    rows = check(tmp_path / "m.pt2", tmp_path / "target.json").requirements
    assert not [row for row in rows if row.verdict == "fail"]
    # no description of a machine holds the functions of its torch
    assert {row.name for row in rows if row.verdict == "not checked"} <= {"torch's C interface"}


CPU = replace(HERE, torch="2.13.0+cpu", gpu=False, gpus=(), cuda=None)
OLD = replace(CPU, cpu_flags=frozenset({"sse4_1"}))

ANY = sample.model(name="any", isa=Build("x86-64", "scalar", ()), torch="2.13.0+cpu")
WIDE = sample.model(name="wide", isa=Build("avx2", "avx2", ("sse4_1", "avx2")), torch="2.13.0")
FOR_GPU = sample.model(
    name="gpu", device="cuda", isa=None, torch="2.13.0+cu130", target="h100", arch="sm_90a"
)


def variants_of(*models: PackagedModel) -> PackageManifest:
    return sample.manifest(*models, are_variants=True)


def list_fits(machine: Machine, *models: PackagedModel) -> list[str]:
    fits = sort_fitting_variants(variants_of(*models), machine)
    return [fit.name if fit.fits else f"not {fit.name}" for fit in fits]


def test_those_that_fit_come_first_and_a_gpu_before_the_widest_vectors() -> None:
    wide = replace(CPU, cpu_flags=CPU.cpu_flags | {"sse4_1", "avx2"})
    assert list_fits(wide, ANY, FOR_GPU, WIDE) == ["wide", "any", "not gpu"]
    gpu = replace(GPU, cpu_flags=wide.cpu_flags)
    assert list_fits(gpu, ANY, FOR_GPU, WIDE) == ["gpu", "wide", "any"]
    assert list_fits(OLD, ANY, FOR_GPU, WIDE) == ["any", "not gpu", "not wide"]


def test_code_for_another_gpu_does_not_fit() -> None:
    a100 = replace(GPU, gpus=(GpuFacts("NVIDIA A100-SXM4-80GB", "sm_80"),))
    (fit,) = sort_fitting_variants(variants_of(FOR_GPU), a100)
    assert not fit.fits
    assert fit.made_for == "cuda, h100 (sm_90a)"
    assert "it needs gpu machine code sm_90a, found NVIDIA A100-SXM4-80GB (sm_80)" in fit.why


def test_the_preflight_fails_only_where_no_variant_fits(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    sample.write_package(path, ANY, FOR_GPU, are_variants=True)
    found = check(path, CPU)
    assert found.ok
    rows = {row.name: (row.verdict, row.advice) for row in found.requirements}
    assert rows["variant any"] == ("pass", "")
    assert rows["variant gpu"] == ("warn", "another variant is used")

    sample.write_package(path, FOR_GPU, are_variants=True)
    assert [row.name for row in check(path, CPU).requirements if row.verdict == "fail"] == [
        "variant gpu"
    ]


def test_the_x_ray_has_a_row_for_each_variant(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    sample.write_package(path, ANY, FOR_GPU, are_variants=True)
    rows = inspect(path).frame("variants").set_index("name")
    assert rows.made_for.to_dict() == {"any": "cpu, x86-64", "gpu": "cuda, h100 (sm_90a)"}
    assert rows.torch["gpu"] == "2.13.0+cu130"
    assert rows.inputs["any"] == "x float32[batch in 2..512, 64]"
    sample.write_package(path)
    assert inspect(path).frame("variants").empty


def test_a_variant_that_cannot_be_meant_is_refused_in_a_sentence() -> None:
    fits = sort_fitting_variants(variants_of(ANY, FOR_GPU), CPU)
    assert choose_variant("m.pt2", fits, None) == "any"
    assert choose_variant("m.pt2", fits, "any") == "any"
    with pytest.raises(ArtifactError, match="has no variant 'tpu': name one of any, gpu"):
        choose_variant("m.pt2", fits, "tpu")
    with pytest.raises(ArtifactError) as error:
        choose_variant("m.pt2", fits, "gpu")
    assert str(error.value).startswith(
        "m.pt2: this machine cannot run variant 'gpu' (cuda, h100 (sm_90a)): it needs torch "
        "2.13.0+cu130"
    )
    assert str(error.value).endswith("Load another: wb.load('m.pt2', variant='any').")
    older = replace(WIDE, isa=Build("avx9", "avx9", ("avx9",)))
    with pytest.raises(ArtifactError, match="no variant that this machine can run:\n  variant"):
        choose_variant("m.pt2", sort_fitting_variants(variants_of(FOR_GPU, older), CPU), None)


def test_of_several_that_fit_the_inputs_decide() -> None:
    fits = sort_fitting_variants(variants_of(ANY, replace(ANY, name="other")), CPU)
    assert choose_variant("m.pt2", fits, None) is None
