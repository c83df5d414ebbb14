"""The size of a deployment: a file with what has to be installed to run it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.artifacts.machine.elf import read_library_file
from workbench.artifacts.machine.machine_description import find_torch_folder
from workbench.errors import UsageError
from workbench.number_text import number_text
from workbench.report.presenter import presenter

if TYPE_CHECKING:
    import pandas

WORKBENCH = "workbench"
_LOADING = ("numpy", "safetensors")  # what loading imports besides torch
_NEEDS_WORKBENCH = ("artifact", "package")
_FOR_CPP = ("package", "torch package")
_NAME = re.compile(r"[\w.-]+")
_LINKED = ("libtorch.so", "libtorch_cpu.so", "libc10.so")
"""What a program in C++ links of torch; what those need of its folder comes with them."""


@dataclass(frozen=True)
class DeploymentPart:
    """One part of a deployment: bytes on disk, None for what is not installed on this machine.

    `why` is "file", "torch", "required by" a distribution or library, or "loads the file".
    """

    name: str
    version: str
    why: str
    size: int | None


@dataclass(frozen=True, repr=False)
class Deployment:
    """A file and what has to be installed to run it, counted in bytes on this machine's disk.

    Python itself, the system's libraries and the model's own code are not among it.
    """

    parts: Sequence[DeploymentPart]

    @property
    def size(self) -> int:
        """Bytes of every part that is installed here, the file among them."""
        return sum(part.size or 0 for part in self.parts)

    def frame(self) -> pandas.DataFrame:
        """A row for each part."""
        return presenter().rows_frame(self.parts, DeploymentPart)

    def __repr__(self) -> str:
        """The total, then a line for each part."""
        lines = [f"Deployment({number_text(self.size, 'bytes')}, counted on this machine)"]
        for part in self.parts:
            size = "not here" if part.size is None else number_text(part.size, "bytes")
            lines.append(f"  {size:>9}  {' '.join(filter(None, (part.name, part.version)))}"
                         f" ({part.why})")  # fmt: skip
        return "\n".join(lines)


def find_deployment(name: str, size: int, kind: str) -> Deployment:
    """What a file of this kind needs; takes about a second, since every installed file is asked.

    Files of this workbench need it with numpy and safetensors, those of torch only torch.
    """
    by_name: dict[str, DeploymentPart] = {}
    _add(by_name, "torch", "torch")
    own: list[DeploymentPart] = []
    if kind in _NEEDS_WORKBENCH:
        own.append(DeploymentPart(WORKBENCH, "", "loads the file", _workbench_size()))
        for required in _LOADING:
            _add(by_name, required, "loads the file")
    return Deployment((DeploymentPart(name, "", "file", size), *own, *by_name.values()))


def find_cpp_deployment(name: str, size: int, kind: str) -> Deployment:
    """What a program in C++ needs that runs a package: the shared libraries of torch, no Python.

    Raises `UsageError` for files that no program in C++ can load, and where torch is not installed.
    """
    if kind not in _FOR_CPP:
        raise UsageError(
            f"{name} is no package: only Python loads it. deployment() counts what that needs; "
            "wb.package(model, args, path=…) writes a file for programs in C++."
        )
    installed = find_torch_folder()
    if installed is None:
        raise UsageError("torch is not installed here: its libraries cannot be counted.")
    folder = installed / "lib"
    why = dict.fromkeys((one for one in _LINKED if (folder / one).is_file()), "torch")
    waiting = list(why)
    while waiting:
        library = waiting.pop()
        for needed in read_library_file(folder / library).needed:
            if needed not in why and (folder / needed).is_file():
                why[needed] = f"required by {library}"
                waiting.append(needed)
    parts = (DeploymentPart(n, "", w, (folder / n).stat().st_size) for n, w in why.items())
    return Deployment((DeploymentPart(name, "", "file", size), *parts))


def _add(by_name: dict[str, DeploymentPart], name: str, why: str) -> None:
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in by_name:
        return
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        by_name[key] = DeploymentPart(name, "", why, None)
        return
    by_name[key] = DeploymentPart(name, installed.version, why, _size(installed))
    for required in _requirements(installed):
        _add(by_name, required, f"required by {name}")


def _requirements(installed: Distribution) -> Iterator[str]:
    """The names that it requires; one with a condition only where it is installed."""
    for words in installed.requires or ():
        requirement, _, condition = words.partition(";")
        name = _NAME.match(requirement)
        if name is None or "extra" in condition:
            continue
        if not condition or _is_installed(name[0]):
            yield name[0]


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _size(installed: Distribution) -> int | None:
    """The bytes of its files; None where no list of them was installed."""
    if installed.files is None:
        return None
    places = (Path(str(installed.locate_file(file))) for file in installed.files)
    return sum(place.stat().st_size for place in places if place.is_file())


def _workbench_size() -> int:
    """The bytes of this package, without compiled Python; a development install lists no files."""
    places = Path(__file__).parents[2].rglob("*")
    return sum(p.stat().st_size for p in places if p.is_file() and p.suffix != ".pyc")
