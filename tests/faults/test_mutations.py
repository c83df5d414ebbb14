"""Thousands of damaged and hostile files: each refused, none run, in bounded time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MANY = 10_000
SAMPLE = 12
KINDS = ("artifact", "torch artifact", "package", "torch package", "exported program")


def look(
    folder: Path, samples: dict[str, str], data: Path, *, first: int = 0, count: int, timeout: float
) -> dict[str, Any]:
    """What the worker found out about mutations of the samples."""
    (folder / "temporary").mkdir()
    job = {
        "samples": samples,
        "folder": str(folder),
        "first": first,
        "count": count,
        "timeout": timeout,
    }
    (folder / "job.json").write_text(json.dumps(job))
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.worker", str(folder / "job.json")],
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
            "AOT_WORKBENCH_DATA": str(data),
            "TMPDIR": str(folder / "temporary"),
            "MALLOC_ARENA_MAX": "2",  # an arena of every thread would count as memory taken
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout + 30,
    )
    last = (folder / "last").read_text().strip() if (folder / "last").exists() else "the start"
    assert done.returncode == 0, f"the process died at {last}:\n{done.stderr[-3000:]}"
    return json.loads((folder / "summary.json").read_text())


def assert_all_refused(summary: dict[str, Any], count: int) -> None:
    failures = summary["failures"]
    assert not failures, f"{len(failures)} failures:\n" + "\n".join(failures[:40])
    refused = sum(n for name, n in summary["outcomes"].items() if name.startswith("load: "))
    assert refused == count
    assert "load: answered" not in summary["outcomes"]


def test_a_sample_of_wrong_files_is_refused(tmp_path: Path, samples: dict[str, str]) -> None:
    summary = look(tmp_path, samples, data_of(samples), count=SAMPLE, timeout=240)
    assert_all_refused(summary, SAMPLE * len(samples))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_wrong_files_are_refused(
    kind: str, tmp_path: Path, compiled_samples: dict[str, str]
) -> None:
    sample = {kind: compiled_samples[kind]}
    summary = look(tmp_path, sample, data_of(compiled_samples), count=MANY, timeout=3000)
    print(kind, summary["counts"], summary["outcomes"], summary["slowest"], summary["peak_mb"])
    assert_all_refused(summary, MANY)


def data_of(samples: dict[str, str]) -> Path:
    """The folder with the key of the user who signed the samples."""
    return Path(samples["artifact"]).parent / "data"
