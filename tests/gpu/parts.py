"""Parts of a run, each in a process of its own that prints one figure per line as JSON."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.gpu.figures import MARK, TABLE
from tests.gpu.record import GpuFigure, GpuRecord

ROOT = Path(__file__).parents[2]
RAN = "ran"
WHOLE_S = 560
"""No run takes longer: what is left then is not checked."""
LEAST_S = 10
"""No part is begun with less: its process takes longer to import torch."""


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


def run_part(
    part: Part, record: GpuRecord, path: Path, left_s: float = inf, caches: str | None = None
) -> None:
    """Run one part within the time that is left; the file is written after each figure.

    `caches` is a folder for torch's: what an earlier run compiled is compiled again.
    """
    missing = part.missing()
    if missing:
        record.outcomes[part.name] = f"not checked: {', '.join(missing)} is not installed"
    elif left_s < LEAST_S:
        record.outcomes[part.name] = f"not checked: the {WHOLE_S} s of the whole run were over"
    else:
        record.outcomes[part.name] = "not checked: the run ended within this part"
        record.save(path)
        limited = replace(part, limit=min(part.limit, int(min(left_s, WHOLE_S))))
        record.outcomes[part.name] = _watched(limited, record, path, caches)
    record.save(path)


def run_parts(parts: Sequence[Part], record: GpuRecord, path: Path) -> bool:
    """Run all; True when every part ran, and reached what it had to."""
    end = time.monotonic() + WHOLE_S
    with TemporaryDirectory(prefix="aot-workbench-gpu-") as caches:
        for part in parts:
            run_part(part, record, path, end - time.monotonic(), caches)
    reached = all(figure.verdict != "missed" for figure in record.figures)
    return reached and all(outcome == RAN for outcome in record.outcomes.values())


def _watched(part: Part, record: GpuRecord, path: Path, caches: str | None) -> str:
    """How the process ended; its other lines go to the terminal, the last ones into the reason."""
    said: list[str] = []
    process = subprocess.Popen(
        part.command,
        cwd=ROOT,
        env=os.environ if caches is None else {**os.environ, "TORCHINDUCTOR_CACHE_DIR": caches},
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
            if line.startswith((MARK, TABLE)):
                _keep(line, part, record)
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


def _keep(line: str, part: Part, record: GpuRecord) -> None:
    """Put what a line says into the record."""
    if line.startswith(TABLE):
        told = json.loads(line.removeprefix(TABLE))
        record.tables.setdefault(f"{part.name}: {told['name']}", []).append(told["row"])
        return
    told = json.loads(line.removeprefix(MARK))
    source = f"measured on {record.found['device']}"
    record.figures.append(GpuFigure(**{"part": part.name, "source": source, **told}))


def _end_group(group: int) -> None:
    """End what the process of a part has left running."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
