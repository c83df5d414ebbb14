"""Runs the wild zoo, and goes on where an earlier run stopped: `python -m tests.wild`.

`--column` takes one of inference, gradients and h100, `--anew` repeats what is in the table;
names restrict it. One process compiles a few models after each other, a fresh one loads them.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.fresh_process import run_fresh
from tests.wild import choice, record

ROOT = Path(__file__).parents[2]
BATCH = 5
LIMIT_S = {"inference": 600, "gradients": 600, "h100": 600}
Cell = dict[str, Any]


def compiled(column: str, names: Sequence[str], folder: Path) -> Iterator[tuple[str, Cell]]:
    """The cells of models, from one process; another goes on behind one that takes too long."""
    rest = list(names)
    while rest:
        for name, cell in _from_one_process(column, tuple(rest), folder):
            rest.remove(name)
            yield name, cell


def _from_one_process(
    column: str, names: Sequence[str], folder: Path
) -> Iterator[tuple[str, Cell]]:
    command = [sys.executable, "-m", "tests.wild.cells", column, str(folder), *names]
    environment = {
        "TORCHINDUCTOR_CACHE_DIR": str(folder.parent / "inductor"),  # many kernels are alike
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    errors = (folder / "errors.txt").open("w+")
    child = subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
    )
    assert child.stdout is not None
    lines = _lines(child.stdout)
    try:
        for name in names:
            try:
                line = lines.get(timeout=LIMIT_S[column])
            except queue.Empty:
                yield name, {"verdict": "over time", "seconds": LIMIT_S[column]}
                return
            if not line:
                errors.seek(0)
                last = errors.read().strip().splitlines()[-1:]
                yield name, {"verdict": "ours", "why": f"the process ended: {last}"}
                return
            found = json.loads(line)
            yield found["name"], found["cell"]
    finally:
        child.kill()
        child.wait()
        errors.close()


def _lines(stream: Iterable[str]) -> queue.Queue[str]:
    """The lines of JSON as they come, an empty one at the end."""
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in stream:
            if line.startswith('{"name"'):
                lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    return lines


def loaded(column: str, names: Sequence[str], folder: Path) -> dict[str, Cell]:
    """The verdicts of a fresh process without a compiler on saved models."""
    saved = [f"{name}={folder / name}.aot" for name in names]
    if not saved:
        return {}
    fresh = folder / "fresh"
    fresh.mkdir(exist_ok=True)
    lines = run_fresh(fresh, "tests.wild.loads", column, *saved).splitlines()
    rows = [json.loads(line) for line in lines if line.startswith('{"name"')]
    return {row["name"]: row["cell"] for row in rows}


def run(column: str, names: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        for start in range(0, len(names), BATCH):
            folder = Path(made) / str(start)
            folder.mkdir()
            for name, cell in judged(column, names[start : start + BATCH], folder).items():
                record.put(column, name, cell)
                print(f"{name:28} {cell['verdict']:13} {cell.get('why', '')[:120]}", flush=True)
            shutil.rmtree(folder)


def judged(column: str, names: Sequence[str], folder: Path) -> dict[str, Cell]:
    """The cells of a few models with their last verdicts."""
    cells = dict(compiled(column, names, folder))
    saved = [name for name, cell in cells.items() if cell["verdict"] == "saved"]
    verdicts = loaded(column, saved, folder)
    return {name: {**cell, **verdicts.get(name, {})} for name, cell in cells.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.wild")
    parser.add_argument("--column", choices=tuple(LIMIT_S), action="append")
    parser.add_argument("--anew", action="store_true")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    record.begin(
        {package: version(package) for package in ("torch", "transformers")},
        {column: len(choice.names(column)) for column in LIMIT_S},
    )
    for column in asked.column or tuple(LIMIT_S):
        known = set() if asked.anew else record.cells(record.load(), column).keys()
        names = [n for n in asked.names or choice.names(column) if n not in known]
        print(f"{column}: {len(names)} models to go", flush=True)
        run(column, names)
    record.write_page(record.load())


if __name__ == "__main__":
    main()
