"""Each state that changes is answered as by eager, refused by name, or listed as frozen."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch

from tests.fresh_process import run_fresh
from tests.states.changes import (
    CHANGED_FIRST,
    LIVE,
    LOADED,
    WRONG,
    Cell,
    Change,
    changes,
    hooks,
    live,
    loaded,
)

SAMPLE = (
    *("cell rebound", "builtin shadowed", "method added between classes under super"),
    *("ABC.register, isinstance", "function of torch.nn.functional replaced", "recursion limit"),
    *("forward of a global nn.GELU patched", "__dict__ replaced by one with a hook"),
    *("variable of the environment by a helper", "attribute of the class of a module"),
    *(
        "boolean dispatch of torch.nn.functional replaced",
        "nn.MaxPool2d with F.max_pool2d replaced",
    ),
    *("hook of an argument", "parameter of an argument hidden", "annotations of a helper"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where modules and files are written."""
    monkeypatch.syspath_prepend(str(tmp_path))
    logging.disable(logging.WARNING)
    yield tmp_path
    logging.disable(logging.NOTSET)
    torch.compiler.reset()
    for name in [name for name in sys.modules if name.startswith("state_change_")]:
        del sys.modules[name]


def cells_here(rows: Sequence[Change], folder: Path) -> list[Cell]:
    """What becomes of the changes in this process."""
    cells = [live(row, folder) for row in rows]
    for row in rows:
        if (folder / f"{row.module}.aot").exists():
            cells += [loaded(row, folder, order) for order in (LOADED, CHANGED_FIRST)]
    return cells


def wrong(cells: Sequence[Cell]) -> list[str]:
    """The cells in which an answer is silently wrong."""
    found = [one for one in cells if one.outcome == WRONG]
    return [f"{one.kind}, {one.order}: {one.how}" for one in found]


@pytest.mark.parametrize("kind", SAMPLE)
def test_a_changed_state(kind: str, folder: Path) -> None:
    row = next(row for row in changes() if row.kind == kind)
    cells = cells_here([row], folder)
    assert wrong(cells) == []
    assert [one.order for one in cells] == [LIVE, LOADED, CHANGED_FIRST]


@pytest.mark.slow
def test_every_changed_state_live_loaded_and_in_another_process(folder: Path) -> None:
    cells = cells_here(changes(), folder)
    lines = run_fresh(folder, "tests.states.changes", str(folder)).splitlines()
    there = [Cell(**json.loads(line)) for line in lines]
    assert wrong(cells) == []
    assert wrong(there) == []
    # else the programs would be none that can be compiled
    assert len(list(folder.glob("*.aot"))) >= 165


@pytest.mark.slow
def test_every_hook_live_loaded_and_in_another_process(folder: Path) -> None:
    rows = hooks()
    cells = cells_here(rows, folder)
    lines = run_fresh(folder, "tests.states.changes", str(folder)).splitlines()
    there = [Cell(**json.loads(line)) for line in lines]
    assert wrong(cells) == []
    assert wrong(there) == []
    assert len(there) == 2 * len(rows)
