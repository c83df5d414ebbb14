"""Runs a module of the tests in a fresh process with fresh caches and no compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_fresh(folder: Path, module: str, *arguments: str, compiler: bool = False) -> str:
    """What `python -m module` prints; its caches are new folders inside `folder`."""
    return _run(folder, "-m", module, *arguments, cwd=ROOT, compiler=compiler)


def run_script(folder: Path, *arguments: str) -> str:
    """What `script.py` in a folder prints; it has a compiler, which a script that saves needs."""
    return _run(folder, "script.py", *arguments, cwd=folder, compiler=True)


def _run(folder: Path, *command: str, cwd: Path, compiler: bool) -> str:
    caches = folder / f"caches-{len(list(folder.iterdir()))}"
    (caches / "tmp").mkdir(parents=True)
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(caches / "tmp"),
        "AOT_WORKBENCH_CACHE": str(caches / "workbench"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
    }
    if not compiler:
        variables["PATH"] = ""
    done = subprocess.run(
        [sys.executable, *command],
        env=variables,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
