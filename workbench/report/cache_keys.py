"""Why torch recompiled: two keys of its cache, part by part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import PurePath
from typing import TYPE_CHECKING

from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.report import CachePart, Report
from workbench.report.graph_stages import GRAPH_STAGES
from workbench.report.presenter import FormerTable, Presented, presenter

if TYPE_CHECKING:
    import pandas

_SHOWN = 8
_SHORT = 60
_HEADS = ("def ", "class ")
_TENSOR = re.compile(r"shape \((?P<shape>[^)]*)\); dtype (?P<dtype>\w+)")
_Parts = Mapping[str, CachePart]


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of two keys; None if a key lacks it, `same` None if it is unknown.

    `graph` is "forward" or "backward". Long values are shortened, but compared in full.
    """

    graph: str
    part: str  # the part that it belongs to
    a: str | None  # what stands there in the first
    b: str | None  # what stands there in the second
    same: bool | None  # whether the two are the same; none where that is not known


@dataclass(frozen=True)
class WhyRecompiled(Presented):
    """Compare the cache keys of two compilations; `differences` are sentences."""

    a: str
    b: str
    rows: tuple[KeyPart, ...] = field(repr=False)
    differences: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether the second would be a cache hit in torch, as far as the parts show."""
        return not self.differences

    @property
    def text(self) -> str:
        """The differences, in a sentence or a few lines."""
        unknown = sum(row.same is None for row in self.rows)
        note = (
            f" {plural(unknown, 'part')} {'is' if unknown == 1 else 'are'} not recorded for both."
            if unknown
            else ""
        )
        if self.same:
            return (
                f"{self.a} and {self.b} have the same key: the second is a cache hit while the "
                f"cache entry exists.{note}"
            )
        shown = self.differences[:_SHOWN]
        more = len(self.differences) - len(shown)
        if len(self.differences) == 1:
            return f"{self.b} was recompiled because {shown[0]}.{note}"
        lines = [f"{self.b} was recompiled because:", *(f"  - {line}" for line in shown)]
        return (
            "\n".join([*lines, *([f"  - … and {more} more: see .frame()"] if more else [])]) + note
        )

    table = FormerTable()

    def frame(self) -> pandas.DataFrame:
        """Return a row for each part: graph, part, a, b, same; differences come first."""
        ordered = sorted(self.rows, key=lambda row: (row.same is not False, row.same is not None))
        return presenter().rows_frame(ordered, KeyPart)

    def __repr__(self) -> str:
        """The sentence."""
        return self.text


def why_recompiled(a: Report, b: Report, names: tuple[str, str]) -> WhyRecompiled:
    """Compare the keys of two reports; raises `UsageError` if one has none."""
    keys = _keys(a, names[0]), _keys(b, names[1])
    rows: list[KeyPart] = []
    differences: list[str] = []
    for graph in dict.fromkeys([*keys[0], *keys[1]]):
        first, second = (key.get(graph) for key in keys)
        if first is None or second is None:
            there = ["present" if key else None for key in (first, second)]
            rows.append(KeyPart(graph, "graph", there[0], there[1], False))
            only = names[0] if second is None else names[1]
            differences.append(f"only {only} has a {graph} graph")
            continue
        parts = [_row(graph, part, first, second) for part in dict.fromkeys([*first, *second])]
        rows += parts
        where = f" of the {graph} graph" if graph != "forward" else ""
        for row in parts:
            if row.same is False:
                differences.append(_sentence(row, a, b) + where)
    return WhyRecompiled(*names, tuple(rows), tuple(differences))


def _keys(report: Report, name: str) -> Mapping[str, _Parts]:
    keys: dict[str, dict[str, CachePart]] = {}
    for row in report.tables.get("cache_parts", ()):
        keys.setdefault(row.graph, {})[row.part] = row
    if not keys:
        why = report.why_missing("cache_parts")
        raise UsageError(
            f"The report of {name} has no cache key{f' ({why})' if why else ''}: torch did not "
            "cache the graph, it was an AOTAutograd cache hit, or the report is from an older "
            "version. Recompile with capture='full'."
        )
    return keys


def _row(graph: str, part: str, first: _Parts, second: _Parts) -> KeyPart:
    a, b = first.get(part), second.get(part)
    same: bool | None = a is not None and b is not None and a.hash == b.hash
    if part.startswith("constant") and not ("constants" in first and "constants" in second):
        same = None  # torch's own description of a key does not tell constants apart
    return KeyPart(graph, part, a.value if a else None, b.value if b else None, same)


def _sentence(row: KeyPart, a: Report, b: Report) -> str:
    kind, _, name = row.part.partition(" ")
    if row.part == "graph":
        return f"the graph differs{_first_difference(a, b)}"
    if kind in ("input", "constant") and row.a and row.b:
        named = f"{row.part}{_name_input(row.a, row.b, a, b)}"
        return "; ".join(_aspects(named, row.a, row.b)) or f"{named} differs"
    if kind in ("input", "constant"):
        return f"{row.part} is only in {'the first' if row.b is None else 'the second'}"
    if kind == "option":
        return f"the options differ: {name} {_pair(row)}"
    if row.part == "torch's sources":
        releases = f"{a.environment.torch} / {b.environment.torch}"
        return f"torch's sources differ ({releases})"
    return f"different values of {row.part}: {_pair(row)}"


def _pair(row: KeyPart) -> str:
    return " / ".join("default" if value is None else _cut(value) for value in (row.a, row.b))


def _cut(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


def _name_input(first: str, second: str, a: Report, b: Report) -> str:
    """The only argument that is such a tensor in both, as ` (x)`; otherwise nothing."""
    found = [_TENSOR.match(text) for text in (first, second)]
    if not all(found):
        return ""
    words = [f"{each['dtype']} [{each['shape'].rstrip(',')}]" for each in found if each]
    names = [
        {name for name, _, text in (each.partition(": ") for each in inputs) if word in text}
        for word, inputs in zip(words, (a.request.inputs, b.request.inputs), strict=True)
    ]
    both = names[0] & names[1]
    return f" ({both.pop()})" if len(both) == 1 else ""


def _aspects(part: str, a: str, b: str) -> Iterator[str]:
    """What differs between two tensors: shape, dtype, strides, device or values.

    Where the shape differs, the strides do for it.
    """
    pairs = list(zip_longest(a.split("; "), b.split("; "), fillvalue=""))
    has_shape = any(one != other and one.startswith("shape ") for one, other in pairs)
    for first, second in pairs:
        aspect, _, before = first.partition(" ")
        after = second.partition(" ")[2]
        if first == second or (aspect == "strides" and has_shape):
            continue
        if aspect == "values":
            yield f"the values of {part} differ"
        else:
            differs = "differ" if aspect == "strides" else "differs"
            yield f"the {aspect} of {part} {differs}: {_cut(before)} / {_cut(after)}"


def _first_difference(a: Report, b: Report) -> str:
    """The first line in which the two graphs differ, from their texts in the reports."""
    for stage in reversed([stage for stage in GRAPH_STAGES.values() if stage.is_keyed]):
        texts = [_graph_text(report, stage.name) for report in (a, b)]
        if all(texts):
            pairs = zip_longest(*(_program(text) for text in texts), fillvalue="nothing")
            for first, second in pairs:
                if first != second:
                    return f"{_find_line(b, second)}: {_cut(first)} / {_cut(second)}"
    return ""


def _find_line(report: Report, text: str) -> str:
    """The line of the user's that a line of a graph comes from, as ` at train.py:7`."""
    name = text.partition(" = ")[0]
    own = next((node for node in report.nodes if node.name == name and node.file), None)
    return "" if own is None else f" at {PurePath(own.file or '').name}:{own.line}"


def _graph_text(report: Report, stage: str) -> str:
    hashes = [graph.text for graph in report.graphs if graph.stage == stage and graph.text]
    return report.texts[hashes[0]] if hashes and hashes[0] in report.texts else ""


def _program(text: str) -> list[str]:
    """The lines of a graph without comments and types, which name files and shapes."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [_untyped(line) for line in lines if line and not line.startswith(_HEADS)]


def _untyped(line: str) -> str:
    name, equals, value = line.partition(" = ")
    return f"{name.partition(':')[0]} = {value.partition(';')[0]}" if equals else line
