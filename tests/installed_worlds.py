"""Leaves out the tests of a world whose folder was deleted: see `python -m tests.worlds.without`.

These are files that import it or its tests, tests that name one of its public names, which
`--gone` lists, and those with the marker `world("numerics")`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

WORLDS = Path(__file__).parents[1] / "workbench" / "worlds"
_USED = re.compile(r"\b(?:workbench|tests)\.worlds\.([a-z_]+)\b")
_HELPER = re.compile(r"^from (tests\.\w+) import", re.MULTILINE)


@cache
def list_missing(path: Path) -> frozenset[str]:
    """The worlds that a file imports, itself or by a file beside it, and that are not there."""
    text = path.read_text("utf-8")
    helpers = (WORLDS.parents[1] / f"{name.replace('.', '/')}.py" for name in _HELPER.findall(text))
    missing = find_missing(_USED.findall(text))
    return missing.union(*(list_missing(helper) for helper in helpers if helper.exists()))


def find_missing(names: Collection[str]) -> frozenset[str]:
    """Those of the names that are neither a world nor a module of the protocol."""
    return frozenset(
        name
        for name in names
        if not (WORLDS / name).is_dir()
        and not list(WORLDS.glob(f"{name}.py*"))
        and not list((WORLDS.parents[1] / "tests" / "worlds").glob(f"*{name}.py"))
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("worlds").addoption("--gone", default="", help="public names of a lost world")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A file that imports a world which is not there."""
    if collection_path.suffix != ".py":
        return None
    return bool(list_missing(collection_path)) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what the marker, or a name, says to be of a world that is not there."""
    gone = config.getoption("--gone")
    uses = re.compile(rf"\bwb\.(?:{gone})\b|\bapi\.(?:{gone})\b|\[(?:{gone})\]$") if gone else None
    left_out = [
        item
        for item in items
        if find_missing([name for mark in item.iter_markers("world") for name in mark.args])
        or (uses is not None and uses.search(_read_source(item)))
    ]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def _read_source(item: pytest.Item) -> str:
    """The code of a test, then its name."""
    return f"{inspect.getsource(item.obj)}\n{item.name}" if hasattr(item, "obj") else item.name
