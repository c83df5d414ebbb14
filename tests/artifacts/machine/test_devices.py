"""The GPUs of a machine, asked of NVIDIA's management library without CUDA."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from workbench.artifacts.machine import machine_description
from workbench.artifacts.machine.machine_description import GpuFacts, GpusOfMachine, find_gpus

LIBRARY = """
#include <string.h>
typedef struct { unsigned long long total, free, used; } Memory;
int nvmlInit_v2(void) { return STARTED; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strcpy(text, "570.1"); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **to) { *to = (char *)0 + i + 1; return 0; }
int nvmlDeviceGetName(void *which, char *text, unsigned size) {
    strcpy(text, which == (void *)1 ? "NVIDIA H100 80GB HBM3" : "NVIDIA L4");
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *which, int *major, int *minor) {
    *major = which == (void *)1 ? 9 : 8;
    *minor = which == (void *)1 ? 0 : 9;
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *which, Memory *memory) {
    memory->total = 85520809984;
    return which == (void *)1 ? 0 : 3;
}
"""


def nvml(folder: Path, started: int) -> str:
    """A library that answers for two GPUs; its start gives `started`, which is 0 where it works."""
    (folder / "nvml.c").write_text(LIBRARY)
    command = ["gcc", "-shared", "-fPIC", f"-DSTARTED={started}", "nvml.c", "-o", "nvml.so"]
    subprocess.run(command, cwd=folder, check=True)
    return str(folder / "nvml.so")


def test_every_nvidia_gpu_has_its_name_architecture_and_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_description, "_NVML", nvml(tmp_path, started=0))
    assert find_gpus() == GpusOfMachine(
        (GpuFacts("NVIDIA H100 80GB HBM3", "sm_90", 85520809984), GpuFacts("NVIDIA L4", "sm_89")),
        driver="570.1",
    )


def test_without_a_driver_that_starts_the_kernel_is_asked_for_amd_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = tmp_path / "kfd" / "1" / "properties"
    node.parent.mkdir(parents=True)
    node.write_text("gfx_target_version 90402\n")
    monkeypatch.setattr(machine_description, "_NVML", nvml(tmp_path, started=9))
    assert find_gpus(tmp_path / "kfd") == GpusOfMachine((GpuFacts("AMD gfx942", "gfx942"),))


def test_a_machine_without_drivers_has_no_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_description, "_NVML", str(tmp_path / "none.so"))
    assert find_gpus(tmp_path / "kfd") == GpusOfMachine()


@pytest.mark.parametrize(
    ("code", "arch", "fits"),
    [
        ("sm_80", "sm_80", True),
        ("sm_80", "sm_86", True),  # a later minor capability
        ("sm_86", "sm_80", False),
        ("sm_80", "sm_90", False),
        ("sm_90a", "sm_90", True),
        ("sm_120a", "sm_121", False),  # code with an a runs on exactly its own
        ("sm_120f", "sm_121", True),
        ("gfx942", "gfx942", True),
        ("gfx942", "gfx950", False),
        ("gfx942", "sm_90", False),
    ],
)
def test_machine_code_runs_where_its_vendor_says(code: str, arch: str, fits: bool) -> None:
    assert GpuFacts("a GPU", arch).runs(code) == fits


@pytest.mark.parametrize(
    ("code", "arch", "runs"),
    [
        ("sm_80", "sm_80", True),
        ("sm_80", "sm_90", True),
        ("sm_80", "sm_120", True),
        ("sm_90", "sm_80", False),
        ("sm_90a", "sm_90", True),
        ("sm_90a", "sm_100", False),
        ("sm_100f", "sm_103", True),
        ("sm_100f", "sm_120", False),
    ],
)
def test_ptx_runs_on_its_own_and_later_gpus(code: str, arch: str, runs: bool) -> None:
    assert GpuFacts("a GPU", arch).compiles(code) == runs
