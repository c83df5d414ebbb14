"""Runs a trial in a process of its own; one that crashes, hangs or fills memory is a row."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from workbench.report.trials import Trial
from workbench.sweeps.space import Setting
from workbench.sweeps.trial_run import Plan
from workbench.sweeps.worker import PATHS, REPORT, ROW, TASK

CANCELLED, ERRORS = "cancelled", "errors.txt"
_TAIL = 1500  # characters of what a worker wrote
_LOOK_S = 0.05


@dataclass(frozen=True)
class Parcel:
    """What every trial needs: a folder, and for other machines its content.

    `digest` names the content.
    """

    folder: str
    digest: str
    content: bytes | None = None

    def with_content(self) -> Parcel:
        """The parcel as it travels to a machine that does not have the folder."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for file in sorted(Path(self.folder).iterdir()):
                if file.name != CANCELLED:
                    archive.write(file, file.name)
        return replace(self, content=buffer.getvalue())


@dataclass(frozen=True)
class Task:
    """One trial as it is handed to an executor, which may pickle it.

    `alone`: it waits for other trials of the same worker process, however many threads that has.
    """

    parcel: Parcel
    setting: bytes  # pickled by cloudpickle: a backend may be a function of a notebook
    trial: Trial
    plan: Plan
    alone: bool = False


@dataclass(frozen=True)
class Ended:
    """A trial's row and the `.wbr` content of its record."""

    trial: Trial
    report: bytes | None


def run_isolated(task: Task) -> Ended:
    """Do one trial; never raises because of it. Called in a worker of an executor."""
    with _one_at_a_time() if task.alone else nullcontext():
        return _run(task)


@cache
def _one_at_a_time() -> threading.Lock:
    """The lock of this worker process."""
    return threading.Lock()


def _run(task: Task) -> Ended:
    with tempfile.TemporaryDirectory(prefix="workbench-trial-") as name:
        folder = Path(name)
        parcel = _parcel(task.parcel, folder)
        (folder / "cache").mkdir()
        _write_task(task, folder / TASK)
        code, why = _wait_for(_start(parcel, folder), task, Path(task.parcel.folder) / CANCELLED)
        report = (folder / REPORT).read_bytes() if (folder / REPORT).exists() else None
        if code == 0 and (folder / ROW).exists():
            return Ended(Trial.from_json(json.loads((folder / ROW).read_text())), report)
        wrote = (folder / ERRORS).read_text(errors="replace").strip()[-_TAIL:]
        return Ended(_lost(task, code, why, wrote), report)


def _parcel(parcel: Parcel, folder: Path) -> Path:
    """The parcel's folder, unpacked from its content where it is not there."""
    here = Path(parcel.folder)
    if (here / PATHS).exists() or parcel.content is None:
        return here
    there = folder / "parcel"
    with zipfile.ZipFile(io.BytesIO(parcel.content)) as archive:
        archive.extractall(there)
    return there


def _write_task(task: Task, path: Path) -> None:
    import cloudpickle

    setting: Setting = cloudpickle.loads(task.setting)
    content = {"setting": setting, "plan": task.plan, "trial": task.trial}
    path.write_bytes(cloudpickle.dumps(content))


def _start(parcel: Path, folder: Path) -> subprocess.Popen[bytes]:
    variables = {
        **os.environ,
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # trials compile beside each other
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),  # every trial compiles everything
        "PYTHONUNBUFFERED": "1",
    }
    with (folder / ERRORS).open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "workbench.sweeps.worker", os.fspath(parcel), os.fspath(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            env=variables,
            cwd=Path(__file__).parents[2],
        )


def _wait_for(process: subprocess.Popen[bytes], task: Task, cancelled: Path) -> tuple[int, str]:
    """The exit code, with "timeout" or "cancelled" where it was ended for that."""
    end = time.monotonic() + task.plan.timeout_s
    why = ""
    try:
        while process.poll() is None:
            if cancelled.exists():
                why = CANCELLED
            elif time.monotonic() > end:
                why = "timeout"
            if why:
                break
            time.sleep(_LOOK_S)
    finally:
        _kill(process)
        code = process.wait()
        if process.stdin is not None:
            process.stdin.close()
    return code, why


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # it has ended, with everything that it started
        return


def _lost(task: Task, code: int, why: str, wrote: str) -> Trial:
    """The row of a trial whose process gave none."""
    if why == "timeout":
        words = f"it took longer than {task.plan.timeout_s:g} s"
        return replace(task.trial, status="timeout", reason=words)
    if why == CANCELLED:
        return replace(task.trial, status=CANCELLED, reason="the sweep was cancelled")
    if code == -signal.SIGKILL:
        words = "the system ended its process (signal 9), as it does when memory runs out"
        return replace(task.trial, status="out of memory", reason=words)
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    said = f"; it wrote: {wrote}" if wrote else ""
    return replace(task.trial, status="crashed", reason=f"its process {how}{said}")
