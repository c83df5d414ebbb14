"""Runs the models of the libraries and writes the table of them: `python -m tests.libraries`.

The first argument is a column, names restrict it. One process compiles a few models after each
other, a fresh one loads them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.fresh_process import run_fresh
from tests.libraries import installed, models
from tests.libraries.cells import COLUMNS, Cell

BATCH = 9
PATH = Path(__file__).with_name("results.json")
LIBRARIES = (
    *("timm", "diffusers", "torch-geometric", "torchmetrics", "kornia", "e3nn", "normflows"),
)


def judged(column: str, names: Sequence[str], folder: Path) -> dict[str, Cell]:
    """The cells of a few models: compiled in a process of their own, loaded in a fresh one."""
    artifacts = folder / "artifacts"
    artifacts.mkdir()
    made = run_fresh(folder, "tests.libraries.cells", column, str(artifacts), *names, compiler=True)
    cells = _cells(made)
    saved = [name for name, cell in cells.items() if cell["verdict"] == "saved"]
    return {**cells, **_cells(run_fresh(folder, "tests.libraries.loads", str(artifacts), *saved))}


def _cells(printed: str) -> dict[str, Cell]:
    rows = [json.loads(line) for line in printed.splitlines() if line.startswith('{"name"')]
    return {row["name"]: row["cell"] for row in rows}


def load() -> dict[str, Any]:
    """The committed table: the versions, and for each model the cells of the columns that ran."""
    found: dict[str, Any] = json.loads(PATH.read_text())
    return found


def text(rows: Mapping[str, Mapping[str, Cell]]) -> str:
    """The table as JSON with a line for each cell."""
    installed.use()
    head = json.dumps({name: version(name) for name in ("torch", *LIBRARIES)})
    lines = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(
            f" {json.dumps(column)}: {json.dumps(rows[name][column], ensure_ascii=False)}"
            for column in COLUMNS
            if column in rows[name]
        )
        + "\n}"
        for name in models.BUILDERS
        if name in rows
    ]
    return f'{{"versions": {head},\n"models": {{\n' + ",\n".join(lines) + "\n}}\n"


def main(column: str, *asked: str) -> None:
    names = asked or tuple(models.BUILDERS)
    rows = load()["models"] if PATH.exists() else {}
    for start in range(0, len(names), BATCH):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            found = judged(column, names[start : start + BATCH], Path(folder))
        for name, cell in found.items():
            print(f"{name:36} {cell['verdict']:14} {cell.get('why', '')[:120]}", flush=True)
            rows.setdefault(name, {})[column] = cell
        PATH.write_text(text(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
