"""Leaves out the tests of a world whose folder was deleted: see `python -m tests.worlds.without`.

These are files that import it, and tests with the marker `world("numerics")`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

WORLDS = Path(__file__).parents[1] / "workbench" / "worlds"
_USED = re.compile(r"\bworkbench\.worlds\.([a-z_]+)\b")


@cache
def list_missing(path: Path) -> frozenset[str]:
    """The worlds that a file imports and that are not there."""
    return find_missing(_USED.findall(path.read_text("utf-8")))


def find_missing(names: Collection[str]) -> frozenset[str]:
    """Those of the names that are neither a world nor a module of the protocol."""
    return frozenset(
        name
        for name in names
        if not (WORLDS / name).is_dir() and not list(WORLDS.glob(f"{name}.py*"))
    )


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A file that imports a world which is not there."""
    if collection_path.suffix != ".py":
        return None
    return bool(list_missing(collection_path)) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what the marker says to be of a world that is not there."""
    left_out = [
        item
        for item in items
        if find_missing([name for mark in item.iter_markers("world") for name in mark.args])
    ]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
