"""Runs the suite with this Python and this torch; writes its row: `python -m tests.versions`."""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import torch

from tests.compiler.internals import snapshot
from tests.versions import results, versions_page

ROOT = Path(__file__).parents[2]
MARKS = "not slow and not gpu"
WHOLE = ["tests", "--ignore=tests/browser", "--ignore=tests/notebooks"]
SPREAD = ["-n", "3", "--dist", "loadgroup", "--max-worker-restart", "0"]  # as `make test` does
WORDS = "all but slow, GPU and browser tests"


def main(arguments: list[str]) -> int:
    """Run all of it, or only the paths that are named; the exit code is pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder) / "junit.xml"
        command = [sys.executable, "-m", "pytest", "-q", *SPREAD, "-m", MARKS]
        command += [f"--junitxml={junit}", *(arguments or WHOLE)]
        done = subprocess.run(command, cwd=ROOT, check=False)
        if done.returncode not in (0, 1):  # interrupted, or nothing ran: no result to keep
            return done.returncode
        counts, failures = results.counted(junit)
    row = results.Row(
        python=platform.python_version(),
        torch=torch.__version__,
        build=f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU",
        triton=metadata.version("triton"),
        date=datetime.date.today().isoformat(),
        part=" ".join(arguments) or WORDS,
        missing=missing(),
        failures=failures,
        **counts,
    )
    results.keep(row)
    versions_page.write(results.load())
    print(versions_page.table([row]))
    return done.returncode


def missing() -> tuple[str, ...]:
    """Private names that this release does not have, whatever the build."""
    command = [sys.executable, "-m", "tests.compiler.internals.snapshot", "--print"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    shapes = snapshot.without_builds(json.loads(done.stdout.splitlines()[-1]))
    return tuple(target for target, shape in shapes.items() if shape == snapshot.MISSING)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
