"""A card of the inspector: what is said of a row that is selected.

In texts `{name}` is a field of the row; what stands in brackets is left out where a field in it is
missing, and a text without anything is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.views.tables.column import Column
from workbench.views.wire.block_messages import CardSpec


@dataclass(frozen=True)
class Card:
    """What kind of thing a row is, its title, its short name; a fact without a value is left out.

    `place` is where the document has the rows, `of` what the glossary calls the facts. `tag` is a
    word and its tone, `says` stands above the facts, `parts` below them under their headings;
    `chips` are headings with fields of ids, `without` kinds of what belongs to it. `ties` are
    fields with ids that belong to the row as it belongs to them, `leads` those that only do the
    first.
    """

    place: str
    caption: str
    title: str
    label: str
    facts: Sequence[Column]
    of: str = ""
    tag: tuple[str, str] | None = None
    says: str = ""
    parts: Sequence[tuple[str, str]] = ()
    chips: Sequence[tuple[str, str]] = ()
    without: Sequence[str] = ()
    ties: Sequence[str] = ()
    leads: Sequence[str] = ()

    def spec(self) -> CardSpec:
        """The card as it travels."""
        return {
            "place": self.place,
            "of": self.of or self.place.rpartition(".")[2],
            "caption": self.caption,
            "title": self.title,
            "label": self.label,
            "tag": self.tag,
            "says": self.says,
            "facts": [column.spec() for column in self.facts],
            "parts": list(self.parts),
            "chips": list(self.chips),
            "without": list(self.without),
            "ties": list(self.ties),
            "leads": list(self.leads),
        }
