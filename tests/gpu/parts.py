"""Parts of a run, each in a process of its own that prints one figure per line as JSON."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.gpu.record import GpuFigure, GpuRecord

ROOT = Path(__file__).parents[2]
MARK = "figure: "
RAN = "ran"


@dataclass(frozen=True)
class Part:
    """A command, the packages that it imports, an estimate and a limit of its time in seconds."""

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...]
    estimate: int
    limit: int

    def missing(self) -> list[str]:
        """The packages that it needs and that are not installed."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


def print_figure(name: str, value: float, unit: str, **more: str | float) -> None:
    """Hand one figure to the run, at once; for the process of a part."""
    print(MARK + json.dumps({"name": name, "value": value, "unit": unit, **more}), flush=True)


def run_part(part: Part, record: GpuRecord, path: Path) -> None:
    """Run one part; the file is written after each figure and at its end."""
    missing = part.missing()
    if missing:
        record.outcomes[part.name] = f"not checked: {', '.join(missing)} is not installed"
    else:
        record.outcomes[part.name] = "not checked: the run ended within this part"
        record.save(path)
        record.outcomes[part.name] = _watched(part, record, path)
    record.save(path)


def run_parts(parts: Sequence[Part], record: GpuRecord, path: Path) -> bool:
    """Run all; True when every part ran, and reached what it had to."""
    for part in parts:
        run_part(part, record, path)
    reached = all(figure.verdict != "missed" for figure in record.figures)
    return reached and all(outcome == RAN for outcome in record.outcomes.values())


def _watched(part: Part, record: GpuRecord, path: Path) -> str:
    """How the process ended; its other lines go to the terminal, the last ones into the reason."""
    said: list[str] = []
    process = subprocess.Popen(
        part.command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # its own processes hold the pipe open: they end with it
    )
    too_long = threading.Event()

    def stop() -> None:
        too_long.set()
        _end_group(process.pid)

    timer = threading.Timer(part.limit, stop)
    timer.start()
    try:
        for line in process.stdout or ():
            if line.startswith(MARK):
                told = json.loads(line.removeprefix(MARK))
                source = f"measured on {record.found['device']}"
                record.figures.append(GpuFigure(part=part.name, source=source, **told))
                record.save(path)
            else:
                sys.stdout.write(line)
                said.append(line.strip())
        code = process.wait()
    finally:
        timer.cancel()
        _end_group(process.pid)
    if too_long.is_set():
        return f"not checked to its end: killed, its limit is {part.limit} s"
    last = next((line for line in reversed(said) if line), "it said nothing")
    return RAN if code == 0 else f"failed with exit code {code}: {last}"


def _end_group(group: int) -> None:
    """End what the process of a part has left running."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
