"""What a package needs, compared with a machine: torch's C interface, processor, GPU, driver."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workbench.artifacts.machine.gpu_needs import GpuCode, code_rows
from workbench.artifacts.machine.machine import Machine, numbers
from workbench.artifacts.machine.requirement import Requirement, Rows
from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.artifacts.preflight.preflight import instruction_row, system_rows

_ISA_FLAGS = {  # what torch/_inductor/cpu_vec_isa.py gives the compiler, as /proc/cpuinfo names it
    "AVX512": ("avx512f", "avx512dq", "avx512vl", "avx512bw"),
    "AVX512_VNNI": ("avx512_vnni",),
    "AVX512_BF16": ("avx512_bf16",),
    "AMX_TILE": ("amx_tile", "amx_bf16", "amx_int8"),
    "AMX_FP16": ("amx_fp16",),
    "AVX2": ("avx2", "fma", "f16c"),
    "ASIMD": ("asimd",),
    "SVE256": ("sve",),
    "SVE": ("sve",),
    "BF16": ("bf16",),
}
_CUDA_BUILD = re.compile(r"\+cu(\d+)(\d)$")


def package_requirements(
    manifest: PackageManifest, machine: Machine, code: Iterable[GpuCode] = ()
) -> tuple[Requirement, ...]:
    """Everything that a package of ours needs; `code` is what its members hold for GPUs."""
    builds = {model.isa: None for model in manifest.models if model.isa is not None}
    devices = sorted({model.device.partition(":")[0] for model in manifest.models})
    return (
        torch_row(manifest.versions.torch, devices, machine),
        *system_rows(manifest.needs, machine),
        *(instruction_row([build], machine) for build in builds),
        *device_rows(devices, machine),
        *code_rows(code, _toolkit(manifest.versions.torch), machine),
        *_weights(manifest.models),
    )


def torch_row(wanted: str, devices: Iterable[str], machine: Machine) -> Requirement:
    """The release of torch: code for a CPU runs on every build of it and on later releases.

    torch keeps the C interface of AOTInductor (torch/csrc/inductor/aoti_torch/c/shim.h) but does
    not promise it: another release is a warning when it is newer, and does not fit when it is
    older.
    """
    row = Rows(machine).row
    only_cpu = set(devices) <= {"cpu"}
    whole = (wanted, machine.torch)
    release, found = (text.partition("+")[0] if only_cpu else text for text in whole)
    again = "compile again with the release of torch that the machine has"
    exact = row("torch", release == found, release, found, again)
    if exact.verdict != "fail" or not found:
        return exact
    mine, there = (numbers(text.partition("+")[0])[:2] for text in whole)
    builds = _toolkit(wanted) == _toolkit(machine.torch) or only_cpu
    if there == mine and builds:
        return Requirement("torch", "pass", release, found)
    if there > mine and builds:
        advice = "a newer release: its C interface is kept as a rule, compare the results once"
        return Requirement("torch", "warn", release, found, advice)
    if there >= mine and _toolkit(wanted)[:1] == _toolkit(machine.torch)[:1]:
        advice = "another build of torch for the same major toolkit: compare the results once"
        return Requirement("torch", "warn", release, found, advice)
    return exact


def _toolkit(version: str) -> tuple[int, ...]:
    """The CUDA release in torch's version, such as (13, 0) of 2.13.0+cu130; empty for none."""
    found = _CUDA_BUILD.search(version)
    return (int(found[1]), int(found[2])) if found else ()


def device_rows(devices: Iterable[str], machine: Machine) -> Iterator[Requirement]:
    """A row for each kind of device that code was compiled for."""
    for device in devices:
        fits = device in ("", "cpu", "meta") or machine.gpu
        found = "cpu and gpu" if machine.gpu else "cpu"
        advice = f"it was compiled for {device}, which this machine does not have"
        yield Rows(machine).row("device", fits, device or "cpu", found, advice)


def named_instructions(isa: str, machine: Machine) -> Requirement:
    """The instruction set that torch names; it records no more than the vector instructions."""
    flags = {flag for name in isa.upper().split() for flag in _ISA_FLAGS.get(name, ())}
    row = Rows(machine).row
    if not machine.cpu_flags:
        return row("instructions", False, isa, None, "its processor is unknown")
    lacks = sorted(flags - machine.cpu_flags)
    if lacks:
        found = f"a processor without {' '.join(lacks)}"
        return row("instructions", False, isa, found, "compile again on this processor")
    advice = "torch compiles for the processor it runs on and records these names only"
    return Requirement("instructions", "warn", isa, "all of them", advice)


def _weights(models: Iterable[PackagedModel]) -> Iterator[Requirement]:
    for model in models:
        if model.weights == "later" and model.constants:
            words = f"{len(model.constants)} tensors of {model.name}"
            advice = "hand them over before the first call: Package.update_weights({...})"
            yield Requirement("weights", "warn", words, "not in the file", advice)
