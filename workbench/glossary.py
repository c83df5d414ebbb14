"""What every word over a column and beside a figure means, said once in `terms.json`.

A world says its own in the `terms.json` of its folder.

The tips of the view, the page of the documentation, the reference of the tables and the command
`workbench words` read it. A section is the table, the card or the page that a word stands on; `*`
stands for the words that a record brings, such as names of GPUs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workbench.worlds.world import World, ask, list_worlds

ANYWHERE, ANY_WORD = "anywhere", "*"
FILE = Path(__file__).with_name("terms.json")


@dataclass(frozen=True, slots=True)
class Term:
    """A word at a place: what it is, the unit of its figures, where they are from.

    `unit` and `source` are empty for text that the record lists.
    """

    place: str
    word: str
    what: str
    unit: str = ""
    source: str = ""

    @property
    def sentence(self) -> str:
        """What it is and where it is from, for the reference."""
        return f"{self.what} ({self.source})." if self.source else f"{self.what}."

    @property
    def text(self) -> str:
        """All of it, a line for each part."""
        lines = (f"{self.what}.", self.unit and f"Unit: {self.unit}.")
        return "\n".join(filter(None, (*lines, self.source and f"Source: {self.source}.")))


@cache
def read_glossary() -> Mapping[tuple[str, str], Term]:
    """Every term by its place and its word, in the order of the file."""
    sections = json.loads(FILE.read_text(encoding="utf-8"))
    for world in list_worlds():
        if world.terms.exists():
            added = ask(world, _read_terms, dict[str, Any](), "the terms")
            sections |= {place: words for place, words in added.items() if place not in sections}
    return {
        (place, word): Term(place, word, *entry)
        for place, words in sections.items()
        for word, entry in words.items()
    }


def _read_terms(world: World) -> dict[str, Any]:
    terms: dict[str, Any] = json.loads(world.terms.read_text(encoding="utf-8"))
    return terms


def find_term(place: str, word: str) -> Term | None:
    """The term of a word at a place, where nothing is said of it there the one for anywhere."""
    terms = read_glossary()
    keys = ((place, word), (ANYWHERE, word), (place, ANY_WORD))
    return next((terms[key] for key in keys if key in terms), None)
