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


def find_text(texts: Mapping[str, str], key: str | None) -> str | None:
    """The text behind a content hash; None where there is no hash, or the text was not kept."""
    return None if key is None else texts.get(key)


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

    def __contains__(self, key: object) -> bool:
        return key in self._texts

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
    """Known texts, then those that are made when one is asked for that is not known.

    `late` makes them by the table whose texts they are; what is listed first is asked first.
    """

    def __init__(self, known: Texts, late: Mapping[str, Callable[[], Texts]]):
        self._known = known
        self._late = late

    def without(self, table: str) -> LateTexts:
        """All but those of one table."""
        return LateTexts(self._known, {k: v for k, v in self._late.items() if k != table})

    def __contains__(self, key: object) -> bool:
        return any(key in part for part in self._parts())

    def _parts(self) -> Iterator[Texts]:
        yield self._known
        yield from (make() for make in self._late.values())

    def __getitem__(self, key: str) -> str:
        for part in self._parts():
            if key in part:
                return part[key]
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys(key for part in self._parts() for key in part)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data of all."""
        lines: list[str] = []
        texts: dict[str, list[int]] = {}
        for part in self._parts():
            made, first = part.to_json(), len(lines)
            lines += made["lines"]
            for key, text in made["texts"].items():
                texts.setdefault(key, [first + line for line in text])
        return {"lines": lines, "texts": texts}


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
