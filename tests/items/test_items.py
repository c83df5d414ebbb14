"""The table of items: each is shown by a test, by a cell of a notebook, or has a reason."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1]
NOTEBOOKS = TESTS.parent / "notebooks"
CONTENT = tomllib.loads(Path(__file__).with_name("items.toml").read_text(encoding="utf-8"))
REASONS = ("no GPU here: ", "no such machine here: ", "gone: ", "open: ")


class Item(NamedTuple):
    topic: str
    line: str
    shown_by: tuple[str, ...]

    @property
    def evidence(self) -> tuple[str, ...]:
        """The tests and cells that show it, without the reasons."""
        return tuple(one for one in self.shown_by if not one.startswith(REASONS))

    @property
    def verdict(self) -> str:
        if not any(one.startswith("open: ") for one in self.shown_by):
            return "ok" if self.evidence else "reason"
        return "partly" if self.evidence else "missing"


def items() -> Iterator[Item]:
    for topic, lines in CONTENT.items():
        if topic != "counts":
            for line, shown_by in lines.items():
                yield Item(
                    topic, line, (shown_by,) if isinstance(shown_by, str) else tuple(shown_by)
                )


@cache
def names_of(path: Path) -> frozenset[str]:
    """The test functions of a file, or the ids of a notebook's cells."""
    if path.suffix == ".ipynb":
        return frozenset(cell["id"] for cell in json.loads(path.read_text("utf-8"))["cells"])
    found = ast.walk(ast.parse(path.read_text("utf-8")))
    return frozenset(one.name for one in found if isinstance(one, ast.FunctionDef))


def is_there(evidence: str) -> bool:
    """Whether a test function or a cell exists; nothing is run."""
    if evidence.startswith("notebook "):
        number, cell = evidence.split()[1:]
        return any(cell in names_of(path) for path in NOTEBOOKS.glob(f"{number}_*.ipynb"))
    file, _, name = evidence.partition("::")
    path = TESTS / file
    return name.startswith("test_") and path.is_file() and name in names_of(path)


def test_what_shows_an_item_exists() -> None:
    missing = [(one.line, what) for one in items() for what in one.evidence if not is_there(what)]
    assert missing == []


def test_no_item_is_silent() -> None:
    assert [one.line for one in items() if not any(one.shown_by)] == []
    bare = [
        what for one in items() for what in one.shown_by if what in {r.strip() for r in REASONS}
    ]
    assert bare == []


def test_items_are_counted_by_their_verdict() -> None:
    found = [one.verdict for one in items()]
    assert {name: found.count(name) for name in CONTENT["counts"]} == CONTENT["counts"]
    assert len(found) == sum(CONTENT["counts"].values())


def test_a_test_and_a_cell_that_are_not_there_are_found() -> None:
    assert not is_there("items/test_items.py::test_nothing_of_this_name")
    assert not is_there("notebook 01 no-such-cell")
    assert is_there("notebook 01 quick-01")
