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
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
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
    """A command, the packages that it imports, an estimate and a limit of its time in seconds.

    One that `is_timed` has the device and the machine to itself; the others run side by side.
    """

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...]
    estimate: int
    limit: int
    is_timed: bool = False

    def missing(self) -> list[str]:
        """The packages that it needs and that are not installed."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


def run_part(
    part: Part,
    record: GpuRecord,
    path: Path,
    left_s: float = inf,
    caches: Path | None = None,
    lock: AbstractContextManager[object] | None = None,
) -> None:
    """Run one part within the time that is left; the file is written after each figure.

    `caches` is a folder for torch's: what an earlier run compiled is compiled again. `lock` is held
    while the record is changed.
    """
    own = lock or nullcontext()
    missing = part.missing()
    if missing:
        outcome = f"not checked: {', '.join(missing)} is not installed"
    elif left_s < LEAST_S:
        outcome = f"not checked: the {WHOLE_S} s of the whole run were over"
    else:
        with own:
            record.outcomes[part.name] = "not checked: the run ended within this part"
            record.save(path)
        limited = replace(part, limit=min(part.limit, int(min(left_s, WHOLE_S))))
        outcome = _watched(limited, record, path, caches, own)
    with own:
        record.outcomes[part.name] = outcome
        record.save(path)


def run_parts(parts: Sequence[Part], record: GpuRecord, path: Path) -> bool:
    """Run those that take no times side by side, then the others; True when all reached theirs."""
    end, lock = time.monotonic() + WHOLE_S, threading.Lock()
    with TemporaryDirectory(prefix="aot-workbench-gpu-") as folder:

        def run(part: Part) -> None:
            left_s = end - time.monotonic()
            run_part(part, record, path, left_s, Path(folder, part.name), lock)

        beside = [part for part in parts if not part.is_timed]
        with ThreadPoolExecutor(len(beside) or 1) as pool:
            list(pool.map(run, beside))
        for part in parts:
            if part.is_timed:
                run(part)
    record.order([part.name for part in parts])
    record.save(path)
    reached = all(figure.verdict != "missed" for figure in record.figures)
    return reached and all(outcome == RAN for outcome in record.outcomes.values())


def _watched(
    part: Part,
    record: GpuRecord,
    path: Path,
    caches: Path | None,
    lock: AbstractContextManager[object],
) -> str:
    """How the process ended; its other lines go to the terminal, the last ones into the reason."""
    said: list[str] = []
    own = {} if caches is None else {"TORCHINDUCTOR_CACHE_DIR": str(caches)}
    process = subprocess.Popen(
        part.command,
        cwd=ROOT,
        env={**os.environ, **own, "PYTHONFAULTHANDLER": "1"},  # where a crash happened is printed
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
                with lock:
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
