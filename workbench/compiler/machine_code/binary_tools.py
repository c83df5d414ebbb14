"""NVIDIA's tools for machine code, which Triton brings along."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_LIMIT_S = 120
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


@lru_cache(maxsize=256)
def inspect_cubin(cubin: bytes) -> Inspected:
    """Disassemble a cubin, with the PTX line of each instruction, and read its resources."""
    usage, no_usage = cubin_usage(cubin)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        sass, no_sass = _run("nvdisasm", "-gp", "-c", "-ndf", str(file))
    notes = [note for note in (no_usage, no_sass) if note]
    return Inspected(sass, usage, "; ".join(notes) or None)


@lru_cache(maxsize=256)
def cubin_usage(cubin: bytes) -> tuple[Usage | None, str | None]:
    """The resources of a cubin without disassembling it, or why they cannot be read."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        return _usage(file)


def _usage(file: Path) -> tuple[Usage | None, str | None]:
    printed, missing = _run("cuobjdump", "--dump-resource-usage", str(file))
    found = _USAGE.search(printed or "")
    return (Usage(int(found[1]), int(found[2]), int(found[3])) if found else None), missing


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

    knobs = getattr(getattr(triton, "knobs", None), "nvidia", None)
    try:
        path: str | None = getattr(getattr(knobs, tool, None), "path", None)
    except RuntimeError:  # Triton's word for a tool that is nowhere
        path = None
    return path
