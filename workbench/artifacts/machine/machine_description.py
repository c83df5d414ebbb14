"""A machine as far as artifacts care, read without torch, with what they require of one."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.arguments import shown
from workbench.device_kinds import VENDORS, Vendor
from workbench.errors import ArtifactError, UsageError
from workbench.plain_data import BY_HAND, parse_json, read_file
from workbench.report.requirement_rows import NOT_CHECKED, Requirement
from workbench.typed_data import Misfit, read_row

FAMILIES = {"GLIBC": "libc.so.6", "GLIBCXX": "libstdc++.so.6", "GOMP": "libgomp.so.1"}
_EXAMPLES = {
    "gpus": (
        ". machine['gpus'] is a list of dicts such as [{'name': 'NVIDIA H100 80GB HBM3', 'arch': "
        "'sm_90'}]"
    ),
    "symbols": ", such as {'GLIBC': '2.36'}",
    "cuda": ", such as '13.0'",
}
_CUDA_BUILD = re.compile(r"\+cu(\d+)(\d)$")
_LINE = re.compile(r"^(__version__|cuda|hip)\b[^=]*=\s*(?:'([^']*)'|None)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Machine:
    """What matters about a machine when an artifact is to run there.

    An empty text, None or an empty collection says that it is not known, but `gpu` and `cuda` of
    this machine are. `cuda` and `hip` are the toolkit that its torch is built with. `str()` is
    JSON, which `wb.check(path, machine=…)` and `Compiled.save(path, machine=…)` read. `modules`
    are the names that can be imported there; `is_here` says that it is this machine.
    """

    python: str = ""
    magic: str = ""
    torch: str = ""
    system: str = ""
    machine: str = ""
    triton: str | None = None
    cpu_flags: frozenset[str] = frozenset()
    symbols: Mapping[str, str] = field(default_factory=dict)
    gpu: bool = False
    gpus: tuple[GpuFacts, ...] = ()
    cuda: str | None = None
    hip: str | None = None
    driver: str | None = None
    full_python: str = ""
    modules: frozenset[str] = frozenset()
    is_here: bool = field(default=False, compare=False)

    @property
    def is_whole(self) -> bool:
        """Whether it was read on the machine: what it lacks, the machine lacks."""
        return bool(self.python and self.magic and self.system)

    @property
    def toolkit(self) -> str | None:
        """The toolkit of its torch in words, such as "CUDA 13.0"; None when there is none."""
        releases = ((vendor, self.toolkit_release(vendor)) for vendor in VENDORS.values())
        return next((f"{vendor.toolkit} {has}" for vendor, has in releases if has), None)

    def toolkit_release(self, vendor: Vendor) -> str | None:
        """The release of a vendor's toolkit that its torch is built with; None for another one."""
        if not isinstance(vendor, Vendor):
            raise UsageError(
                f"vendor is {shown(vendor)}: expected one of workbench.device_kinds.VENDORS."
            )
        release: str | None = getattr(self, vendor.build)
        return release

    @property
    def release_in_torch(self) -> str | None:
        """The release that torch's own record names: CUDA's, also on a build for ROCm."""
        return self.cuda

    def compared(
        self,
        name: str,
        fits: bool,
        needed: str,
        found: str | None,
        advice: str = "",
        warning: str = "",
    ) -> Requirement:
        """Pass or fail by `fits`; a warning where one is given, not checked if not described."""
        if not found and not self.is_whole:
            missing = "missing in the description"
            return Requirement(name, NOT_CHECKED, needed, "not described", missing)
        verdict = "fail" if not fits else "warn" if warning else "pass"
        return Requirement(name, verdict, needed, found or "none", warning if fits else advice)

    def to_json(self) -> dict[str, Any]:
        """Plain data that JSON can hold."""
        data = {name: value for name, value in asdict(self).items() if name != "is_here"}
        return {**data, "cpu_flags": sorted(self.cpu_flags), "modules": sorted(self.modules)}

    def __str__(self) -> str:
        """The JSON text: `python -m workbench.machine > target.json`."""
        return json.dumps(self.to_json(), indent=1)

    def __repr__(self) -> str:
        """A short summary, without what a description leaves out."""
        gpus = ", ".join(gpu.name for gpu in self.gpus) or "no GPU"
        parts = [f"python {self.python}"] if self.python else []
        parts += [f"torch {self.torch or 'none'}"]
        parts += [f"triton {self.triton}"] if self.triton else []
        parts += [self.machine] if self.machine else []
        return f"Machine({', '.join(parts)}, {gpus})"

    @classmethod
    def of(cls, description: Any) -> Machine:
        """A machine from what a user gives: one, a mapping, or the path of a JSON file.

        Raises `UsageError` when it is none of them or names something unknown.
        """
        if isinstance(description, Machine):
            return description
        if isinstance(description, str | PathLike):
            description = _read(description)
        if not isinstance(description, Mapping):
            raise UsageError(
                f"machine is a {type(description).__name__}: expected a dict from wb.machine(), "
                "such as {'torch': '2.13.0+cu130', 'cuda': '13.0'}, or the path of the JSON that "
                "`python -m workbench.machine > target.json` wrote."
            )
        return _from_mapping(description)


def _read(path: str | PathLike[str]) -> Any:
    try:
        return parse_json(read_file(path, BY_HAND))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"machine={os.fspath(path)!r} cannot be read ({error}). Write it on that machine: "
            "python -m workbench.machine > target.json"
        ) from error


def _from_mapping(data: Mapping[str, Any]) -> Machine:
    names = [part.name for part in fields(Machine) if part.name != "is_here"]
    unknown = [str(name) for name in data if name not in names]
    listed = data["gpus"] if isinstance(data.get("gpus"), list | tuple) else ()
    of_gpus = {name for gpu in listed if isinstance(gpu, Mapping) for name in gpu}
    unknown += [f"gpus.{name}" for name in of_gpus if name not in GpuFacts.__dataclass_fields__]
    if unknown:
        raise UsageError(
            f"machine has the unknown entry {', '.join(unknown)}. Expected: {', '.join(names)}."
        )
    try:
        machine = read_row(Machine, {name: one for name, one in data.items() if one is not None})
    except Misfit as error:
        example = next((_EXAMPLES[name] for name in _EXAMPLES if name in error.place), "")
        place = re.sub(r"\.(\w+)", r"['\1']", error.place)
        raise UsageError(f"machine{place} {error.args[0]}{example}.") from error
    built = None if machine.cuda else ".".join(map(str, read_toolkit(machine.torch)))
    return replace(
        machine, gpu=machine.gpu or bool(machine.gpus), cuda=machine.cuda or built or None
    )


def describe_current_machine(*, symbols: bool = True) -> Machine:
    """The facts of this machine and this Python; imports no torch, starts no CUDA.

    Without `symbols` no system library is read: the linker refuses what does not fit by itself.
    """
    built, devices = read_torch_build(), find_gpus()
    return Machine(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        magic=importlib.util.MAGIC_NUMBER.hex(),
        torch=built.get("__version__") or "",
        triton=release("triton"),
        system=platform.system(),
        machine=platform.machine(),
        cpu_flags=read_cpu_flags(),
        symbols=_symbols() if symbols else {},
        gpu=bool(devices.gpus) or Path("/dev/nvidiactl").exists() or Path("/dev/kfd").exists(),
        gpus=devices.gpus,
        cuda=built.get("cuda"),
        hip=built.get("hip"),
        driver=devices.driver,
        full_python=platform.python_version(),
        is_here=True,
    )


def describe_machine() -> Machine:
    """The facts of `describe_current_machine`, and names of modules that can be imported here."""
    installed = {
        name for name in importlib.metadata.packages_distributions() if name.isidentifier()
    }
    return replace(
        describe_current_machine(), modules=frozenset(installed) | sys.stdlib_module_names
    )


def read_torch_build() -> dict[str, str | None]:
    """`__version__`, `cuda` and `hip` of the installed torch, read without importing it.

    The package's own metadata leave out which build it is, such as +cu130.
    """
    folder = find_torch_folder()
    try:
        text = (folder / "version.py").read_text() if folder else ""
    except OSError:
        text = ""
    build: dict[str, str | None] = {name: value or None for name, value in _LINE.findall(text)}
    return build if build.get("__version__") else {"__version__": release("torch")}


def find_torch_folder() -> Path | None:
    """Where torch is installed, found without importing it."""
    spec = importlib.util.find_spec("torch")
    return Path(spec.origin).parent if spec and spec.origin else None


def read_toolkit(torch: str) -> tuple[int, ...]:
    """The CUDA release in a version of torch: (13, 0) of 2.13.0+cu130; empty for none."""
    match = _CUDA_BUILD.search(torch)
    return (int(match[1]), int(match[2])) if match else ()


def release(name: str) -> str | None:
    """The release of an installed distribution, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def read_cpu_flags() -> frozenset[str]:
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


def numbers(version: str) -> tuple[int, ...]:
    """The numeric parts of a release, for comparison."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal() and len(part) < 20)


def find_newest_symbols(versions: Iterable[str]) -> dict[str, str]:
    """The newest version of each family among versions of symbols such as GLIBC_2.34."""
    newest: dict[str, str] = {}
    for version in versions:
        family, _, number = version.rpartition("_")
        if family in FAMILIES and numbers(number) > numbers(newest.get(family, "")):
            newest[family] = number
    return newest


def _symbols() -> dict[str, str]:
    """The newest version of each family of symbols that this machine's libraries define."""
    from workbench.artifacts.machine.elf import read_library_file  # to start a package needs none

    by_family: dict[str, str] = {}
    folders = tuple(_library_folders())
    for family, name in FAMILIES.items():
        for folder in folders:
            try:
                library = read_library_file(folder / name)
            except (OSError, ValueError):
                continue
            by_family[family] = find_newest_symbols(library.defines).get(family, "")
            break
    return by_family


def _library_folders() -> Iterator[Path]:
    """Where the libraries come from: loaded ones first, then torch's own, then the system's."""
    try:
        maps = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        maps = []
    loaded = {os.path.dirname(line.split(maxsplit=5)[-1]) for line in maps if ".so" in line}
    yield from map(Path, sorted(loaded))
    if folder := find_torch_folder():
        yield folder / "lib"
    machine = platform.machine()
    yield from map(Path, (f"/lib/{machine}-linux-gnu", f"/usr/lib/{machine}-linux-gnu"))
    yield from map(Path, ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"))


def refuse_failed(path: str, rows: Iterable[Requirement], again: str) -> None:
    """Raise `ArtifactError` that names every row that fails; `again` is how to mend it."""
    failed = [row for row in rows if row.verdict == "fail"]
    if failed:
        lines = [
            f"  {row.name}: needs {row.needed}, this machine has {row.found}"
            + (f" ({row.advice})" if row.advice else "")
            for row in failed
        ]
        raise ArtifactError("\n".join((f"{path} does not fit this machine:", *lines, again)))


_KFD = Path("/sys/class/kfd/kfd/topology/nodes")
_NVML = "libnvidia-ml.so.1"
_NUMBER = re.compile(r"sm_(\d+)(\d)([af]?)$")


@dataclass(frozen=True)
class GpuFacts:
    """One GPU: its name as torch reports it, "sm_90" or "gfx942", bytes of memory, or None."""

    name: str
    arch: str
    memory_bytes: int | None = None

    def runs(self, code: str) -> bool:
        """Whether it runs machine code for an architecture, such as "sm_90a" or "gfx942".

        NVIDIA's code runs on the same major compute capability from its minor one on; code with the
        letter a only on exactly its own, with f on its family
        (CUDA C++ Programming Guide, "Binary Compatibility" and "Feature Set Compiler Targets").
        """
        needed, there = _NUMBER.match(code), _NUMBER.match(self.arch)
        if needed is None or there is None:
            return code == self.arch
        same_major = needed[1] == there[1]
        if needed[3] == "a":
            return same_major and needed[2] == there[2]
        return same_major and int(there[2]) >= int(needed[2])

    def compiles(self, ptx: str) -> bool:
        """Whether its driver can compile PTX for an architecture to its own.

        PTX is compiled for its own and for every later compute capability; with the letter a only
        for exactly its own, with f for its family
        (CUDA C++ Programming Guide, "PTX Compatibility").
        """
        needed, there = _NUMBER.match(ptx), _NUMBER.match(self.arch)
        if needed is None or there is None or needed[3]:
            return self.runs(ptx)
        return (int(there[1]), int(there[2])) >= (int(needed[1]), int(needed[2]))


@dataclass(frozen=True)
class GpusOfMachine:
    """All GPUs of a machine and the release of their driver."""

    gpus: tuple[GpuFacts, ...] = ()
    driver: str | None = None


def find_gpus(kfd: Path = _KFD) -> GpusOfMachine:
    """The GPUs of this machine: NVIDIA's by its management library, AMD's by the kernel."""
    gpus = _nvidia()
    return gpus if gpus.gpus else GpusOfMachine(tuple(find_amd_gpus(kfd)))


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def _nvidia() -> GpusOfMachine:
    try:
        library: Any = ctypes.CDLL(_NVML)
    except OSError:
        return GpusOfMachine()
    if library.nvmlInit_v2() != 0:
        return GpusOfMachine()
    try:
        count, driver = ctypes.c_uint(), ctypes.create_string_buffer(80)
        library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        library.nvmlSystemGetDriverVersion(driver, len(driver))
        gpus = tuple(_nvidia_gpu(library, n) for n in range(count.value))
        return GpusOfMachine(gpus, driver.value.decode(errors="replace") or None)
    finally:
        library.nvmlShutdown()


def _nvidia_gpu(library: Any, index: int) -> GpuFacts:
    handle, memory = ctypes.c_void_p(), _Memory()
    name, major, minor = ctypes.create_string_buffer(96), ctypes.c_int(), ctypes.c_int()
    library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
    library.nvmlDeviceGetName(handle, name, len(name))
    library.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor))
    has_memory = library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
    return GpuFacts(
        name.value.decode(errors="replace"),
        f"sm_{major.value}{minor.value}",
        int(memory.total) if has_memory else None,
    )


def find_amd_gpus(kfd: Path) -> Iterator[GpuFacts]:
    """The GPUs that the kernel lists in `kfd`; a node without compute units is a processor."""
    for node in sorted(kfd.glob("*/properties"), key=lambda file: file.parent.name):
        lines = (line.split() for line in node.read_text().splitlines())
        facts = {parts[0]: parts[1] for parts in lines if len(parts) == 2}
        version = int(facts.get("gfx_target_version", "0"))
        if not version:
            continue
        major, rest = divmod(version, 10000)
        minor, step = divmod(rest, 100)
        arch = f"gfx{major}{minor:x}{step:x}"
        yield GpuFacts(f"AMD {arch}", arch)
