"""Ids of source lines: `L:s0:12` is line 12, in the innermost function of a report around it."""

from __future__ import annotations


class SourceLineIndex:
    """The functions of a report by file, and the ids of their lines."""

    def __init__(self) -> None:
        self._spans: dict[str, list[tuple[int, int, str]]] = {}
        self._ids: dict[tuple[str, int], str | None] = {}

    def add(self, shown: str, first: int, last: int, source: str) -> None:
        """Note where a source of a shown file begins and ends, before ids are asked for."""
        self._spans.setdefault(shown, []).append((first, last, source))

    def is_within(self, shown: str, line: int) -> bool:
        """Whether a source noted so far has the line."""
        return any(first <= line <= last for first, last, _ in self._spans.get(shown, ()))

    def of(self, shown: str | None, line: int | None) -> str | None:
        """The id of a line of a shown file, or None when its function is not in the report."""
        if shown is None or line is None:
            return None
        key = (shown, line)
        if key not in self._ids:
            fits = [s for s in self._spans.get(shown, ()) if s[0] <= line <= s[1]]
            inner = max(fits, default=None)
            self._ids[key] = None if inner is None else f"L:{inner[2]}:{line}"
        return self._ids[key]
