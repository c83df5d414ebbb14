"""What an artifact needs, compared with a machine; the machine is read without torch."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workbench.artifacts.elf import read_library
from workbench.artifacts.manifest import Build, Manifest, SystemNeeds
from workbench.errors import ArtifactError

BUILD_FLAGS = frozenset(
    ("ssse3", "sse4_1", "sse4_2", "sse4a", "popcnt", "movbe", "abm", "bmi1", "bmi2", "fma", "fma4",
     "xop", "tbm", "f16c", "avx", "avx2", "adx", "gfni", "vaes", "vpclmulqdq", "avx_vnni",
     "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16",
     "avx512_fp16", "avx512ifma", "avx512vbmi", "avx512_vbmi2", "avx512_bitalg",
     "avx512_vpopcntdq", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16")
)  # fmt: skip
"""Processor flags (as /proc/cpuinfo names them) whose instructions a compiler may emit."""

_FAMILIES = {"GLIBC": "libc.so.6", "GLIBCXX": "libstdc++.so.6", "GOMP": "libgomp.so.1"}


@dataclass(frozen=True)
class Machine:
    """What matters about a machine when an artifact is to run there."""

    python: str
    magic: str
    torch: str
    system: str
    machine: str
    triton: str | None = None
    cpu_flags: frozenset[str] = frozenset()
    symbols: Mapping[str, str] = field(default_factory=dict)
    gpu: bool = False


@dataclass(frozen=True)
class Requirement:
    """One thing that an artifact needs: `verdict` is pass, warn or fail."""

    name: str
    verdict: str
    needed: str
    found: str
    advice: str = ""


def current_machine() -> Machine:
    """The facts of this machine and this Python; imports no torch."""
    return Machine(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        magic=importlib.util.MAGIC_NUMBER.hex(),
        torch=_release("torch") or "",
        triton=_release("triton"),
        system=platform.system(),
        machine=platform.machine(),
        cpu_flags=cpu_flags(),
        symbols=_symbols(),
        gpu=Path("/dev/nvidiactl").exists() or Path("/dev/kfd").exists(),
    )


def _release(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def cpu_flags() -> frozenset[str]:
    """The flags of the first processor in /proc/cpuinfo."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


def best_build(builds: Sequence[Build], flags: frozenset[str]) -> Build | None:
    """The build with the most instructions among those that the processor runs, or None."""
    fitting = [build for build in builds if flags.issuperset(build.flags)]
    return max(fitting, key=lambda build: len(build.flags), default=None)


def requirements(manifest: Manifest, machine: Machine) -> tuple[Requirement, ...]:
    """Everything that the artifact needs, compared with the machine."""
    return (
        *_versions(manifest, machine),
        *_system(manifest.needs, machine),
        _instructions(manifest, machine),
        _device(manifest, machine),
    )


def _row(name: str, fits: bool, needed: str, found: str, advice: str = "") -> Requirement:
    return Requirement(name, "pass" if fits else "fail", needed, found, "" if fits else advice)


def _versions(manifest: Manifest, machine: Machine) -> Iterator[Requirement]:
    made = manifest.versions
    again = "make the artifact again with this release"
    yield _row("python", made.python == machine.python, made.python, machine.python, again)
    yield _row("bytecode", made.magic == machine.magic, made.magic, machine.magic, again)
    wanted, found = made.torch, machine.torch
    if manifest.device == "cpu":  # a CPU artifact runs on every build of the release
        wanted, found = wanted.partition("+")[0], found.partition("+")[0]
    yield _row("torch", wanted == found, wanted, found or "none", again)
    if manifest.device != "cpu" and made.triton:
        fits = made.triton == machine.triton
        yield _row("triton", fits, made.triton, machine.triton or "none", again)


def _system(needs: SystemNeeds, machine: Machine) -> Iterator[Requirement]:
    if needs.system:
        yield _row("system", needs.system == machine.system, needs.system, machine.system)
        yield _row("processor", needs.machine == machine.machine, needs.machine, machine.machine)
    for family, needed in sorted(needs.symbols.items()):
        found = machine.symbols.get(family)
        if found is None:
            yield Requirement(
                family, "warn", needed, "not found", f"install the library that provides {family}"
            )
        else:
            fits = _numbers(found) >= _numbers(needed)
            yield _row(family, fits, needed, found, f"a newer {_FAMILIES[family]} is needed")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _instructions(manifest: Manifest, machine: Machine) -> Requirement:
    if not manifest.builds:
        return Requirement("instructions", "pass", "none", machine.machine)
    names = ", ".join(build.name for build in manifest.builds)
    chosen = best_build(manifest.builds, machine.cpu_flags)
    if chosen is not None:
        return Requirement("instructions", "pass", names, chosen.name)
    lacks = {b.name: sorted({*b.flags} - machine.cpu_flags) for b in manifest.builds}
    found = "; ".join(f"{name} lacks {' '.join(flags)}" for name, flags in lacks.items())
    return Requirement(
        "instructions", "fail", names, found, "this processor runs none of the packed kernels"
    )


def _device(manifest: Manifest, machine: Machine) -> Requirement:
    fits = manifest.device in ("cpu", "meta") or machine.gpu
    return _row(
        "device",
        fits,
        manifest.device,
        "cpu and gpu" if machine.gpu else "cpu",
        f"it was compiled for {manifest.device}, which this machine does not have",
    )


def check_fits(path: str, manifest: Manifest, machine: Machine) -> None:
    """Raise `ArtifactError` that names each requirement which the machine fails."""
    failed = [row for row in requirements(manifest, machine) if row.verdict == "fail"]
    if not failed:
        return
    lines = [
        f"  {row.name}: needs {row.needed}, this machine has {row.found}"
        + (f" ({row.advice})" if row.advice else "")
        for row in failed
    ]
    raise ArtifactError(
        f"{path} does not fit this machine:\n"
        + "\n".join(lines)
        + f"\nMake it again here: wb.recompile({path!r}, module=model)"
    )


def system_needs(libraries: Iterable[bytes]) -> SystemNeeds:
    """What a set of built libraries needs: the newest version of each family of symbols."""
    newest: dict[str, str] = {}
    names: set[str] = set()
    for content in libraries:
        try:
            library = read_library(content)
        except ValueError:  # another system's format: the loader there will tell
            continue
        names.update(library.needed)
        for version in library.versions:
            family, _, number = version.rpartition("_")
            if family in _FAMILIES and _numbers(number) > _numbers(newest.get(family, "")):
                newest[family] = number
    return SystemNeeds(platform.system(), platform.machine(), newest, tuple(sorted(names)))


def _symbols() -> dict[str, str]:
    """The newest version of each family of symbols that this machine's libraries define."""
    found: dict[str, str] = {}
    for family, name in _FAMILIES.items():
        for folder in _library_folders():
            try:
                library = read_library((folder / name).read_bytes())
            except (OSError, ValueError):
                continue
            versions = [v.rpartition("_") for v in library.defines]
            numbers = [number for kind, _, number in versions if kind == family]
            found[family] = max(numbers, key=_numbers, default="")
            break
    return found


def _library_folders() -> Iterator[Path]:
    """Where the libraries come from: loaded ones first, then torch's own, then the system's."""
    try:
        maps = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        maps = []
    yield from sorted({Path(line.split(maxsplit=5)[-1]).parent for line in maps if ".so" in line})
    spec = importlib.util.find_spec("torch")
    if spec is not None and spec.origin:
        yield Path(spec.origin).parent / "lib"
    machine = platform.machine()
    yield from map(Path, (f"/lib/{machine}-linux-gnu", f"/usr/lib/{machine}-linux-gnu"))
    yield from map(Path, ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"))
