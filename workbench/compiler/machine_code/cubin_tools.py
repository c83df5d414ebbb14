"""What CUDA's own tools say of cubins: the code of each, what it takes of the device."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from workbench.compiler.machine_code.joined_cubins import alike, joined, take_apart
from workbench.device_kinds import NVIDIA
from workbench.temporary import make_temporary_folder

_LIMIT_S = 120
_TOOLS = ("ptxas", "ptxas_blackwell", "cuobjdump", "nvdisasm")
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


@dataclass(frozen=True)
class Usage:
    """What a cubin says of itself: registers of a thread, bytes of stack and shared memory."""

    registers: int
    stack: int
    shared: int


@dataclass(frozen=True)
class Inspected:
    """A cubin's code and resources; `note` says what could not be had and why."""

    sass: str | None
    usage: Usage | None
    note: str | None = None


@dataclass
class _Disassembled:
    """What nvdisasm printed of a cubin, or why it did not, once it has been asked."""

    sass: str | None = None
    missing: str | None = None


@lru_cache(maxsize=256)
def _known(cubin: bytes) -> _Disassembled:
    """Where what is known of a cubin is kept, so that it is disassembled once."""
    return _Disassembled()


def inspect_cubins(cubins: Sequence[bytes]) -> list[Inspected]:
    """Disassemble cubins, with the PTX line of each instruction, and read their resources.

    Those for one architecture are given to nvdisasm together.
    """
    by_cubin = {cubin: _known(cubin) for cubin in cubins}
    _disassemble({cubin: row for cubin, row in by_cubin.items() if row == _Disassembled()})
    return [_inspected(cubin, by_cubin[cubin]) for cubin in cubins]


def _inspected(cubin: bytes, code: _Disassembled) -> Inspected:
    usage, no_usage = read_cubin_usage(cubin)
    notes = [note for note in (no_usage, code.missing) if note]
    return Inspected(code.sass, usage, "; ".join(notes) or None)


def _disassemble(wanted: dict[bytes, _Disassembled]) -> None:
    """Ask nvdisasm once for each architecture, then alone for what it did not print so."""
    groups: dict[object, list[bytes]] = {}
    for cubin in wanted:
        if (key := alike(cubin)) is not None:
            groups.setdefault(key, []).append(cubin)
    for together in groups.values():
        if len(together) > 1:
            printed, _ = _printed(joined(together))
            for number, text in take_apart(printed or "").items():
                wanted[together[number]].sass = text
    for cubin, row in wanted.items():
        if row.sass is None:
            row.sass, row.missing = _printed(cubin)


def _printed(cubin: bytes) -> tuple[str | None, str | None]:
    """The code of a file as nvdisasm prints it, or why it does not."""
    with make_temporary_folder("aot-workbench-cubin-") as folder:
        file = folder / "kernel.cubin"
        file.write_bytes(cubin)
        return _run("nvdisasm", "-gp", "-c", "-ndf", str(file))


@lru_cache(maxsize=256)
def read_cubin_usage(cubin: bytes) -> tuple[Usage | None, str | None]:
    """The resources of a cubin without disassembling it, or why they cannot be read."""
    with make_temporary_folder("aot-workbench-cubin-") as folder:
        file = folder / "kernel.cubin"
        file.write_bytes(cubin)
        printed, missing = _run("cuobjdump", "--dump-resource-usage", str(file))
    match = _USAGE.search(printed or "")
    return (Usage(int(match[1]), int(match[2]), int(match[3])) if match else None), missing


def list_tool_versions() -> tuple[str, ...]:
    """What NVIDIA's tools beside Triton, which code and its figures come from, say they are."""
    said = (_run(tool, "--version") for tool in _TOOLS)
    return tuple(printed or str(missing) for printed, missing in said)


def _run(tool: str, *arguments: str) -> tuple[str | None, str | None]:
    """What a tool printed, or why it did not."""
    path = _path(tool)
    if path is None:
        return None, f"{tool} was not found beside Triton or in a CUDA toolkit"
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"{tool} failed: {error}"
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or f"code {done.returncode}").split(
            "\n"
        )
        return None, f"{tool} failed: {words[-1]}"
    return done.stdout, None


def _path(tool: str) -> str | None:
    import triton

    knobs = getattr(getattr(triton, "knobs", None), NVIDIA.name, None)
    try:
        path: str | None = getattr(getattr(knobs, tool, None), "path", None)
    except RuntimeError:  # Triton's word for a tool that is nowhere
        path = None
    return path
