"""Big texts, stored once by content hash; texts that share lines share their storage."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

HIDDEN = "(dropped)"
"""What stands in place of a text that is not to be shown."""


def content_hash(text: str) -> str:
    """A short stable name for a text: 16 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Texts(Mapping[str, str]):
    """Read-only texts by content hash.

    Each text is a list of indexes into one table of lines, so that the graph after a pass costs
    only the lines that the pass changed.
    """

    def __init__(self, lines: Sequence[str] = (), texts: Mapping[str, Sequence[int]] | None = None):
        self._lines = lines
        self._texts = dict(texts or {})

    def __getitem__(self, key: str) -> str:
        return "\n".join(map(self._lines.__getitem__, self._texts[key]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "lines": list(self._lines),
            "texts": {k: list(v) for k, v in self._texts.items()},
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied with all texts, also those that are made when they are asked for."""
        return Texts.from_json, (self.to_json(),)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Texts:
        """Read what `to_json` wrote."""
        return cls(data["lines"], data["texts"])


class LateTexts(Texts):
    """Known texts, then those that are made when one is asked for that is not known."""

    def __init__(self, known: Texts, late: Callable[[], Texts]):
        self._known = known
        self._late = late

    @property
    def known(self) -> Texts:
        """Those that are there without making any."""
        return self._known

    def __getitem__(self, key: str) -> str:
        try:
            return self._known[key]
        except KeyError:
            return self._late()[key]

    def __iter__(self) -> Iterator[str]:
        yield from self._known
        yield from (key for key in self._late() if key not in self._known)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data of all."""
        known, late = self._known.to_json(), self._late().to_json()
        first = len(known["lines"])
        moved = {key: [first + line for line in text] for key, text in late["texts"].items()}
        return {"lines": known["lines"] + late["lines"], "texts": moved | known["texts"]}


class TextWriter:
    """Collects texts while a compilation is recorded."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._texts: dict[str, list[int]] = {}

    def add(self, text: str) -> str:
        """Keep a text once and return its content hash."""
        key = content_hash(text)
        if key not in self._texts:
            index = self._index
            self._texts[key] = [index.setdefault(s, len(index)) for s in text.split("\n")]
        return key

    def finish(self) -> Texts:
        """The collected texts, read-only."""
        return Texts(list(self._index), self._texts)
