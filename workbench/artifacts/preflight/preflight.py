"""What an artifact needs, compared with a machine; the machine is read without torch."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.artifacts.machine.machine_description import (
    FAMILIES,
    Machine,
    find_newest_symbols,
    numbers,
    refuse_failed,
)
from workbench.artifacts.manifest.manifest_json import Build, SystemNeeds
from workbench.artifacts.preflight.gpu_needs import explain_wrong_gpu, list_gpu_rows
from workbench.errors import ArtifactError
from workbench.report.requirement_rows import Requirement

if TYPE_CHECKING:
    from workbench.artifacts.manifest.manifest import Manifest

BUILD_FLAGS = frozenset(
    ("ssse3", "sse4_1", "sse4_2", "sse4a", "popcnt", "movbe", "abm", "bmi1", "bmi2", "fma", "fma4",
     "xop", "tbm", "f16c", "avx", "avx2", "adx", "gfni", "vaes", "vpclmulqdq", "avx_vnni",
     "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16",
     "avx512_fp16", "avx512ifma", "avx512vbmi", "avx512_vbmi2", "avx512_bitalg",
     "avx512_vpopcntdq", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16")
)  # fmt: skip
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
    made, row = manifest.versions, machine.compared
    again = "make the artifact again with this release"
    yield row("python", made.python == machine.python, made.python, machine.python, again)
    yield row("bytecode", made.magic == machine.magic, made.magic, machine.magic, again)
    if manifest.built_for is not None:
        return
    wanted, installed = made.torch, machine.torch
    if manifest.device == "cpu":  # a CPU artifact runs on every build of the release
        wanted, installed = wanted.partition("+")[0], installed.partition("+")[0]
    yield row("torch", wanted == installed, wanted, installed, again)
    if manifest.device != "cpu" and made.triton:
        fits = made.triton == machine.triton
        yield row("triton", fits, made.triton, machine.triton, again)


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
    advice = "this processor runs none of the packed kernels"
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
    again = f"Make it again here: wb.recompile({path!r}, module=model)"
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
