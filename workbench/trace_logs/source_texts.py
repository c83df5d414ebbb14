"""The user's functions as far as a log quotes them, or whole where their file is still the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.compiler.sources.sources import SourceLineIndex, span_around
from workbench.report import Source, TextWriter
from workbench.trace_logs.source_places import LogPlaces

GAP = "⋮"  # a line that no record quotes; no Python, so that the rest is not taken for a function
_LONGEST = 400  # lines between two that are quoted


class LogSources:
    """The source rows of several logs and the ids of their lines."""

    def __init__(self, places: Sequence[LogPlaces], texts: TextWriter):
        self.rows: list[Source] = []
        self.is_quoted = False  # whether some text is put together from quoted lines
        self._ids = SourceLineIndex()
        merged: dict[tuple[str, str], dict[int, str]] = {}
        original: dict[str, tuple[str, str]] = {}
        for one in places:
            for (file, function), lines in one.lines.items():
                shown = one.shown(file)
                original.setdefault(shown, (file, one.kind(file)))
                merged.setdefault((shown, function), {}).update(lines)
        for (shown, function), lines in merged.items():
            file, kind = original[shown]
            if kind != "library" and not file.startswith("<"):
                self._add(shown, function, kind, lines, _local(file, lines), texts)

    def _add(
        self,
        shown: str,
        function: str,
        kind: str,
        lines: Mapping[int, str],
        local: Sequence[str] | None,
        texts: TextWriter,
    ) -> None:
        if any(self._ids.is_within(shown, line) for line in lines) and local is not None:
            return
        span = None if local is None else span_around(local, function, min(lines))
        if local is None or span is None:
            self.is_quoted = True
            first, text = min(lines), _quoted(lines)
        else:
            first, text = span[0], [line.rstrip("\n") for line in local[span[0] - 1 : span[1]]]
        id = f"s{len(self.rows)}"
        self.rows.append(Source(id, function, shown, first, texts.add("\n".join(text)), kind))
        self._ids.add(shown, first, first + len(text) - 1, id)

    def line_id(self, shown: str | None, line: int | None) -> str | None:
        """The id of a line of a shown file, or None when its function is not in the report."""
        return self._ids.of(shown, line)


def _quoted(lines: Mapping[int, str]) -> list[str]:
    first = min(lines)
    last = max(line for line in lines if line - first < _LONGEST)
    return [lines.get(number) or GAP for number in range(first, last + 1)]


def _local(file: str, lines: Mapping[int, str]) -> list[str] | None:
    """The lines of a file of this machine, if every line that the log quotes is there."""
    quoted = {number: text for number, text in lines.items() if text}
    if not file.endswith(".py") or not quoted:
        return None
    try:
        found = Path(file).read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError):
        return None
    is_same = all(
        0 < number <= len(found) and found[number - 1].strip() == text.strip()
        for number, text in quoted.items()
    )
    return found if is_same else None
