"""Starts the processes of a round trip, one at a time, and leaves none behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.roundtrip.child import LOG, ORDER, RESULT

LIMIT_S = 1800.0
_MODULE = "workbench.roundtrip.child"
_HIDDEN = ("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "TRITON_INTERPRET")
_TAIL = 1500  # characters of what a process wrote before it died


def run(folder: Path, caches: Path, order: Mapping[str, Any]) -> dict[str, Any]:
    """Run one order in a new process and return what it found, or `{"error": …}`.

    The process and everything that it started end with this call, also after an interrupt.
    `folder` is new and gets its files; its caches are in `caches`.
    """
    folder.mkdir()
    for name in ("tmp", "inductor", "triton", "workbench"):
        (caches / name).mkdir(parents=True, exist_ok=True)
    path = [entry or os.getcwd() for entry in sys.path]
    (folder / ORDER).write_text(json.dumps({**order, "path": path, "folder": os.getcwd()}))
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, os.fspath(folder), repr(time.perf_counter())],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=_variables(caches, path),
            start_new_session=True,  # an interrupt from the terminal is ours to handle
            cwd=Path(__file__).parents[2],
        )
    try:
        code = process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"error": f"it took longer than {LIMIT_S:.0f} s and was ended"}
    finally:
        _end(process)
    result = folder / RESULT
    if result.exists():
        found: dict[str, Any] = json.loads(result.read_text())
        return found
    return {"error": _died(code, folder / LOG)}


def _variables(caches: Path, path: list[str]) -> dict[str, str]:
    """The environment of a process: our import path, cache folders of its own."""
    kept = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
    return kept | {
        "PYTHONPATH": os.pathsep.join(path),
        "TMPDIR": os.fspath(caches / "tmp"),
        "TORCHINDUCTOR_CACHE_DIR": os.fspath(caches / "inductor"),
        "TRITON_CACHE_DIR": os.fspath(caches / "triton"),
        "AOT_WORKBENCH_CACHE": os.fspath(caches / "workbench"),
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process with every compiler that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    process.wait()


def _died(code: int, log: Path) -> str:
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    words = log.read_text(errors="replace").strip()[-_TAIL:]
    return f"its process {how}; it wrote: {words or '(nothing)'}"


def remove(folder: Path) -> None:
    """Remove a folder, even if a process that was just ended still writes there."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.05)
