"""One measured figure beside the value that it has to reach."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Figure:
    """A ratio or a size: what was measured, what it is compared with, what it has to reach."""

    name: str
    ours: float
    other: float | None
    value: float
    reach: float | None  # the largest value that passes; None for a figure shown beside another
    unit: str
    note: str = ""
    conditions: str = ""  # those of its bench where it has none of its own

    @property
    def passed(self) -> bool:
        return self.reach is None or self.value <= self.reach

    def row(self) -> str:
        """One line on the terminal: name, ours, other, value, what to reach, verdict."""
        other = "" if self.other is None else f"{self.other:.3g}"
        reach = "" if self.reach is None else f"<= {self.reach:g}"
        verdict = "" if self.reach is None else ("pass" if self.passed else "FAIL")
        cells = (f"{self.name:<58}", f"{self.ours:>8.3g}", f"{other:>8}", f"{self.value:>8.3g}")
        return " | ".join((*cells, f"{reach:>7}", f"{verdict:<4}", self.note)).rstrip(" |")


def ratio(name: str, ours: Sequence[float], other: Sequence[float], reach: float | None) -> Figure:
    """The median of the ratios of interleaved pairs."""
    pairs = [a / b for a, b in zip(ours, other, strict=True)]
    spread = f"{len(pairs)} pairs, {min(pairs):.2f} to {max(pairs):.2f}"
    return Figure(
        name,
        statistics.median(ours),
        statistics.median(other),
        statistics.median(pairs),
        reach,
        "ratio",
        spread,
    )


def in_seconds(found: Figure, reach: float, conditions: str) -> Figure:
    """Our side of a ratio as a figure of its own."""
    return Figure("  in seconds", found.ours, None, found.ours, reach, "s", "", conditions)


def interleaved(
    ours: Callable[[], float], other: Callable[[], float], pairs: int
) -> tuple[list[float], list[float]]:
    """Measure both in turn; who goes first changes from pair to pair."""
    found: tuple[list[float], list[float]] = ([], [])
    for n in range(pairs):
        for side in (0, 1) if n % 2 else (1, 0):
            found[side].append((ours, other)[side]())
    return found


@contextmanager
def empty_caches() -> Iterator[dict[str, str]]:
    """The variables of a process for which every cache is an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "tmp").mkdir()
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(here / "tmp")}
        variables["AOT_WORKBENCH_CACHE"] = str(here / "workbench")
        variables.pop("TORCHINDUCTOR_CACHE_DIR", None)
        yield variables


def child(module: str, *arguments: str, variables: dict[str, str]) -> Any:
    """Run a module in a process of its own; what it prints last is JSON."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    if done.returncode:
        raise RuntimeError(f"{module} {' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def peak_bytes(pid: int | str = "self") -> int:
    """The most memory that a process has had; `ru_maxrss` would hold that of its parent too."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def children() -> list[int]:
    """The processes that this one has started and that still run."""
    pids = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    return [pid for pid in pids if (fields := _stat(pid)) and int(fields[1]) == os.getpid()]


def _stat(pid: int) -> list[str]:
    """The fields behind the name in `/proc/PID/stat`; none for a process that has just ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def cpu_seconds(pid: int) -> float:
    """Seconds on a processor, those of its ended children included."""
    return sum(map(int, _stat(pid)[11:15])) / os.sysconf("SC_CLK_TCK")
