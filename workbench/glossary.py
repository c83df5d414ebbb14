"""What every word over a column and beside a figure means, said once in `terms.json`.

A world says its own in the `terms.json` of its folder.

The tips of the view, the page of the documentation, the reference of the tables and the command
`workbench words` read it. A section is the table, the card or the page that a word stands on; `*`
stands for the words that a record brings, such as names of GPUs. `field_terms.json` has words that
our texts do not use, each with the term of the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workbench.worlds.world import World, gather, list_worlds

ANYWHERE, ANY_WORD = "anywhere", "*"
FILE = Path(__file__).with_name("terms.json")
FIELD_FILE = Path(__file__).with_name("field_terms.json")
Section = dict[str, list[str]]
"""The words of a place, each with the parts of its `Term` from `what` on."""


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


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """A word that texts of the workbench do not use, and the field's own in its place.

    `exceptions` are phrases with the word that are the field's.
    """

    word: str
    instead: str
    exceptions: tuple[str, ...] = ()

    def is_in(self, text: str) -> bool:
        """Whether a text has the word, also in the plural, outside of its exceptions."""
        for phrase in self.exceptions:
            text = text.replace(phrase, "")
        return re.search(rf"\b{re.escape(self.word)}s?\b", text, re.IGNORECASE) is not None


@cache
def list_field_terms() -> tuple[FieldTerm, ...]:
    """All of them, in the order of their file."""
    rows = json.loads(FIELD_FILE.read_text(encoding="utf-8"))
    return tuple(
        FieldTerm(row["word"], row["instead"], tuple(row.get("except", ()))) for row in rows
    )


@cache
def read_glossary() -> Mapping[tuple[str, str], Term]:
    """Every term by its place and its word, in the order of the file."""
    return {
        (place, word): Term(place, word, *said)
        for place, words in _read_sections().items()
        for word, said in words.items()
    }


@cache
def read_foreign_terms() -> Mapping[str, Section]:
    """The sections that worlds of other packages add.

    The front end is built with all others; these travel with each document.
    """
    own = (_read_world(world) for world in list_worlds() if world.is_own)
    known = {*_read(FILE)}.union(*own)
    return {place: words for place, words in _read_sections().items() if place not in known}


@cache
def _read_sections() -> Mapping[str, Section]:
    return gather(_read_world, _read(FILE), "section of terms")


def _read_world(world: World) -> dict[str, Section]:
    return _read(world.terms) if world.terms.exists() else {}


def _read(file: Path) -> dict[str, Section]:
    found: Any = json.loads(file.read_text(encoding="utf-8"))
    if wrong := next(_list_wrong(found), None):
        raise TypeError(f"{file.name}: {wrong}")
    sections: dict[str, Section] = found
    return sections


def _list_wrong(found: object) -> Iterator[str]:
    """What is of another form, which the file of another package may be."""
    if not isinstance(found, dict):
        yield f"expected places with their words, got {type(found).__name__}"
        return
    for place, words in found.items():
        if not isinstance(words, dict):
            yield f"{place!r}: expected words, got {type(words).__name__}"
            continue
        for word, said in words.items():
            parts = said if isinstance(said, list) else []
            if not 1 <= len(parts) <= 3 or not all(isinstance(part, str) for part in parts):
                yield f"{place!r}, {word!r}: expected a list of what it is, its unit, its source"


def find_term(place: str, word: str) -> Term | None:
    """The term of a word at a place, where nothing is said of it there the one for anywhere."""
    known = read_glossary()
    keys = ((place, word), (ANYWHERE, word), (place, ANY_WORD))
    return next((known[key] for key in keys if key in known), None)
