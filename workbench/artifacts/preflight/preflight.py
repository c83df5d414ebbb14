"""What an artifact needs, compared with a machine; the machine is read without torch.

Code for one kind of GPU needs that GPU, its toolkit, torch and Triton.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.artifacts.machine.machine_description import (
    FAMILIES,
    Machine,
    find_newest_symbols,
    numbers,
    refuse_failed,
)
from workbench.artifacts.manifest.manifest import Build, SystemNeeds
from workbench.errors import ArtifactError
from workbench.report.requirement_rows import NOT_CHECKED, Requirement

if TYPE_CHECKING:
    from workbench.artifacts.manifest.manifest import BuiltFor, Manifest

BUILD_FLAGS = frozenset(
    (
        "ssse3",
        "sse4_1",
        "sse4_2",
        "sse4a",
        "popcnt",
        "movbe",
        "abm",
        "bmi1",
        "bmi2",
        "fma",
        "fma4",
        "xop",
        "tbm",
        "f16c",
        "avx",
        "avx2",
        "adx",
        "gfni",
        "vaes",
        "vpclmulqdq",
        "avx_vnni",
        "avx512f",
        "avx512bw",
        "avx512cd",
        "avx512dq",
        "avx512vl",
        "avx512_vnni",
        "avx512_bf16",
        "avx512_fp16",
        "avx512ifma",
        "avx512vbmi",
        "avx512_vbmi2",
        "avx512_bitalg",
        "avx512_vpopcntdq",
        "amx_tile",
        "amx_int8",
        "amx_bf16",
        "amx_fp16",
    )
)
"""Processor flags (as /proc/cpuinfo names them) whose instructions a compiler may emit."""


def choose_build(builds: Sequence[Build], flags: frozenset[str]) -> Build | None:
    """The build with the most instructions among those that the processor runs, or None."""
    fitting = [build for build in builds if flags.issuperset(build.flags)]
    return max(fitting, key=lambda build: len(build.flags), default=None)


def check_requirements(manifest: Manifest, machine: Machine) -> tuple[Requirement, ...]:
    """Everything that the artifact needs, compared with the machine."""
    return (
        *_versions(manifest, machine),
        *system_rows(manifest.needs, machine),
        check_instructions(manifest.builds, machine),
        *list_device_rows([] if manifest.built_for else [manifest.device], machine),
        *list_gpu_rows(manifest, machine),
    )


def _versions(manifest: Manifest, machine: Machine) -> Iterator[Requirement]:
    versions, row = manifest.versions, machine.compared
    again = "recompile the artifact with the release that the machine has"
    yield row("python", versions.python == machine.python, versions.python, machine.python, again)
    yield row("bytecode", versions.magic == machine.magic, versions.magic, machine.magic, again)
    if manifest.built_for is not None:
        return
    needed, installed = versions.torch, machine.torch
    if manifest.device == "cpu":  # a CPU artifact runs on every build of the release
        needed, installed = needed.partition("+")[0], installed.partition("+")[0]
    yield row("torch", needed == installed, needed, installed, again)
    if manifest.device != "cpu" and versions.triton:
        fits = versions.triton == machine.triton
        yield row("triton", fits, versions.triton, machine.triton, again)


def system_rows(needs: SystemNeeds, machine: Machine) -> Iterator[Requirement]:
    """A row each for the system, the processor and the versions of the libraries' symbols."""
    row = machine.compared
    if needs.system:
        yield row("system", needs.system == machine.system, needs.system, machine.system)
        yield row("processor", needs.machine == machine.machine, needs.machine, machine.machine)
    for family, needed in sorted(needs.symbols.items()):
        newest = machine.symbols.get(family)
        if newest is None and not machine.is_whole:
            yield row(family, False, needed, None)
        elif newest is None:
            advice = f"install the library that provides {family}"
            yield Requirement(family, "warn", needed, "not found", advice)
        else:
            fits = numbers(newest) >= numbers(needed)
            yield row(family, fits, needed, newest, f"a newer {FAMILIES[family]} is needed")


def check_instructions(builds: Sequence[Build], machine: Machine) -> Requirement:
    """Whether the processor has every instruction of one of the builds."""
    if not builds:
        return Requirement("instructions", "pass", "none", machine.machine)
    names = ", ".join(build.name for build in builds)
    chosen = choose_build(builds, machine.cpu_flags)
    if chosen is not None:
        return Requirement("instructions", "pass", names, chosen.name)
    if not machine.cpu_flags:
        return machine.compared("instructions", False, names, None, "its processor is unknown")
    lacks = {build.name: sorted({*build.flags} - machine.cpu_flags) for build in builds}
    shortfall = "; ".join(f"{name} lacks {' '.join(flags)}" for name, flags in lacks.items())
    advice = "this processor cannot run any of the packed kernels"
    return Requirement("instructions", "fail", names, shortfall, advice)


def list_device_rows(devices: Iterable[str], machine: Machine) -> Iterator[Requirement]:
    """A row for each kind of device that code was compiled for."""
    for device in devices:
        fits = device in ("", "cpu", "meta") or machine.gpu
        available = "cpu and gpu" if machine.gpu else "cpu"
        advice = f"it was compiled for {device}, which this machine does not have"
        yield machine.compared("device", fits, device or "cpu", available, advice)


def check_fits(path: str, manifest: Manifest, machine: Machine) -> None:
    """Raise `ArtifactError` that names each requirement which the machine fails."""
    if words := explain_wrong_gpu(path, manifest, machine):
        raise ArtifactError(words)
    again = f"Recompile it here: wb.recompile({path!r}, module=model)"
    refuse_failed(path, check_requirements(manifest, machine), again)


def read_system_needs(libraries: Iterable[bytes]) -> SystemNeeds:
    """What a set of built libraries needs: the newest version of each family of symbols."""
    from workbench.artifacts.machine.elf import read_library  # only what is written is read so

    versions: list[str] = []
    names: set[str] = set()
    for content in libraries:
        try:
            library = read_library(content)
        except ValueError:  # another system's format: the loader there checks it
            continue
        names.update(library.needed)
        versions += library.versions
    newest = find_newest_symbols(versions)
    return SystemNeeds(platform.system(), platform.machine(), newest, tuple(sorted(names)))


_DRIVERS = {  # by major toolkit: CUDA Toolkit Release Notes, "Minimum Required Driver Version"
    11: "450.80.02",
    12: "525.60.13",
    13: "580.65.06",
}


@dataclass(frozen=True)
class GpuCode:
    """Code for GPUs in a file: of kind "machine code" or "PTX" for `arch`, or a "bundle"."""

    kind: str
    arch: str


def list_gpu_rows(manifest: Manifest, machine: Machine) -> Iterator[Requirement]:
    """A row each for torch, Triton, the toolkit and the GPU; nothing for other artifacts."""
    needed = manifest.built_for
    if needed is None:
        return
    yield _torch(needed, machine)
    yield _triton(needed, machine)
    yield _toolkit(needed, machine)
    yield _gpu(needed, machine)
    toolkit = numbers(needed.toolkit or "")
    if toolkit and needed.kind.has_minimum_drivers:
        yield from _driver(toolkit, machine)


def list_code_rows(
    code: Iterable[GpuCode], toolkit: tuple[int, ...], machine: Machine
) -> Iterator[Requirement]:
    """A row each for the GPU, the toolkit and the driver of what a package holds for GPUs."""
    parts = sorted({*code}, key=lambda part: (part.kind, part.arch))
    if not parts:
        return
    words = ", ".join(f"{part.kind} {part.arch}".strip() for part in parts)
    gpus = _gpus(machine) if machine.gpus else None
    if any(part.kind == "bundle" for part in parts):
        advice = "the bundle's GPU architectures were not read"
        yield Requirement("gpu", NOT_CHECKED, words, gpus or "no GPU described", advice)
    else:
        fits = any(
            (gpu.compiles if part.kind == "PTX" else gpu.runs)(part.arch)
            for part in parts
            for gpu in machine.gpus
        )
        yield machine.compared(
            "gpu",
            fits,
            words,
            gpus,
            "no GPU of the machine runs this code; compile it for the GPU that will run it",
        )
    if toolkit:
        has = numbers(machine.release_in_torch or "")
        needed = f"CUDA {toolkit[0]}"
        advice = "install a torch build for that major CUDA release"
        yield machine.compared("toolkit", has[:1] == toolkit[:1], needed, machine.toolkit, advice)
        yield from _driver(toolkit, machine)


def _driver(toolkit: tuple[int, ...], machine: Machine) -> Iterator[Requirement]:
    """Whether the driver runs what a toolkit of this major release makes."""
    least = _DRIVERS.get(toolkit[0])
    if least is not None and machine.driver:
        fits = numbers(machine.driver) >= numbers(least)
        advice = f"CUDA {toolkit[0]} needs a newer driver"
        yield machine.compared("driver", fits, f"at least {least}", machine.driver, advice)


def explain_wrong_gpu(path: str, manifest: Manifest, machine: Machine) -> str | None:
    """One sentence when no GPU of the machine runs the artifact's code, else None."""
    needed = manifest.built_for
    if needed is None or _gpu(needed, machine).verdict != "fail":
        return None
    return (
        f"{path} was compiled for {needed.gpu} ({needed.title}), but this machine has "
        f"{_gpus(machine)}. Load it on a machine with that GPU, or look inside with "
        f"wb.inspect({path!r})."
    )


def _torch(needed: BuiltFor, machine: Machine) -> Requirement:
    release, _, build = needed.torch.partition("+")
    has, _, found_build = machine.torch.partition("+")
    words = needed.torch if build else f"{release}, any GPU build"
    again = "recompile with the torch release of the machine"
    other = "another build of the same release, which torch itself would refuse"
    is_other = build and found_build and build != found_build
    warning = other if is_other else ""
    return machine.compared("torch", release == has, words, machine.torch, again, warning)


def _triton(needed: BuiltFor, machine: Machine) -> Requirement:
    release, has = needed.triton or "", machine.triton or ""
    fits = release.split(".")[:2] == has.split(".")[:2]
    again = "recompile with the Triton release of the machine"
    other = "on the first load, Triton recompiles the kernels that it launches"
    return machine.compared("triton", fits, release, has, again, other if release != has else "")


def _toolkit(needed: BuiltFor, machine: Machine) -> Requirement:
    vendor = needed.kind.toolkit
    toolkit = f"{vendor} {needed.toolkit}" if needed.toolkit else f"any {vendor}"
    has = machine.toolkit or ""
    advice = f"install a torch build for {vendor}"
    other = "a different toolkit than expected, which torch itself would refuse"
    warning = other if needed.toolkit and toolkit != has else ""
    return machine.compared("toolkit", has.startswith(vendor), toolkit, has, advice, warning)


def _gpu(needed: BuiltFor, machine: Machine) -> Requirement:
    fitting = [gpu.name for gpu in machine.gpus if gpu.runs(needed.arch)]
    has = _gpus(machine) if machine.gpus else None
    advice = f"the kernels are machine code for {needed.arch}, which no GPU of the machine runs"
    other = f"the code runs, but block sizes and grids were chosen for {needed.device_name}"
    warning = other if needed.device_name not in fitting else ""
    row = machine.compared("gpu", bool(fitting), needed.title, has, advice, warning)
    is_none = row.verdict == "fail" and not machine.gpus
    return replace(row, found=_gpus(machine)) if is_none else row


def _gpus(machine: Machine) -> str:
    if not machine.gpus:
        return "a GPU whose properties cannot be read" if machine.gpu else "no GPU"
    return ", ".join(dict.fromkeys(f"{gpu.name} ({gpu.arch})" for gpu in machine.gpus))
