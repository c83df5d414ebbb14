"""Graph breaks, guards and recompilations that came, went or changed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import zip_longest
from typing import TypeVar

from workbench.analysis.diff.difference import Change, name_relation
from workbench.report import Break, Guard, Report

Row = TypeVar("Row")
_COUNTED = re.compile(r"(?<=')(__\w*?_|_)\d+(?:_c\d+)?(?=')")
_HOOKS = re.compile(r"(?<=___dict_contains\()\d+(?=, .*_hooks)")


def compare_breaks(a: Report, b: Report) -> Iterator[Change | None]:
    """Breaks on the same line of code (wherever it stands) for the same reason are the same."""
    for one, other in _paired(a.breaks, b.breaks, lambda r: (r.function, r.text.strip(), r.kind)):
        row = one or other
        assert row is not None
        if one and other and (one.reason, one.count) == (other.reason, other.count):
            yield None
            continue
        note = row.explanation or row.reason
        texts = _break_text(one), _break_text(other)
        ids = (one.id if one else None), (other.id if other else None)
        yield Change("breaks", row.text.strip(), name_relation(one, other), *texts, "", note, *ids)


def _break_text(row: Break | None) -> str | None:
    if row is None:
        return None
    return f"{row.file}:{row.line} {row.kind}{f', {row.count} times' if row.count > 1 else ''}"


def _uncounted(text: str) -> str:
    """A source without the numbers that a process counts: Dynamo's own globals, and hooks."""
    return _HOOKS.sub("#", _COUNTED.sub(r"\1#", text))


def compare_guards(a: Report, b: Report) -> list[Change | None]:
    """Guards of one kind on one source are the same guard; its conditions may differ.

    Where there are several, such as the guards of a log that name no source, those with equal
    conditions belong together first.
    """
    whole = _paired(a.guards, b.guards, lambda r: (*_named(r), *map(_uncounted, r.code)))
    pairs = list(whole)
    rest_a = [one for one, other in pairs if one and not other]
    rest_b = [other for one, other in pairs if other and not one]
    changes: list[Change | None] = []
    for one, other in [*filter(all, pairs), *_paired(rest_a, rest_b, _named)]:
        changes += list(_guard(one, other)) or [None]
    # guards that are kept say what the compiled code needs: those first
    return sorted(changes, key=lambda c: c is not None and c.note.startswith("not kept"))


def _named(row: Guard) -> tuple[str, str]:
    return row.kind, _uncounted(row.source)


def _guard(a: Guard | None, b: Guard | None) -> Iterator[Change]:
    row = a or b
    assert row is not None
    item = f"{row.kind} {row.source}".strip()
    ids = (a.id if a else None), (b.id if b else None)
    if a is None or b is None:
        texts = _conditions(a), _conditions(b)
        note = "" if row.kept else f"not kept: {row.why_dropped or ''}"
        yield Change("guards", item, name_relation(a, b), *texts, "", note, *ids)
        return
    if a.kept != b.kept:
        note = (a if b.kept else b).why_dropped or ""
        change = "kept" if b.kept else "dropped"
        yield Change("guards", item, change, _kept(a), _kept(b), "", note, *ids)
    if a.code != b.code:
        codes = [{_uncounted(code) for code in row.code} for row in (a, b)]
        only_a = [code for code in a.code if _uncounted(code) not in codes[1]]
        only_b = [code for code in b.code if _uncounted(code) not in codes[0]]
        note = "" if a.kept or b.kept else "not kept in either"
        if only_a or only_b:
            texts = "; ".join(only_a) or None, "; ".join(only_b) or None
            yield Change("guards", item, "changed", *texts, "", note, *ids)


def _kept(row: Guard) -> str:
    return "kept" if row.kept else "dropped"


def _conditions(row: Guard | None) -> str | None:
    return None if row is None else "; ".join(row.code) or _kept(row)


def recompile_changes(a: Report, b: Report) -> Iterator[Change | None]:
    """Compilations of a function once more, by the reason."""
    for one, other in _paired(a.recompiles, b.recompiles, lambda r: (r.function, r.reason)):
        row = one or other
        assert row is not None
        texts = (one.reason if one else None), (other.reason if other else None)
        change = Change("recompiles", row.function, name_relation(one, other), *texts)
        yield None if one and other else change


def _paired(
    a: Iterable[Row], b: Iterable[Row], key: Callable[[Row], Hashable]
) -> Iterator[tuple[Row | None, Row | None]]:
    """Rows with equal keys, in the order of a; several of one key in their order."""
    groups: dict[Hashable, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((a, b)):
        for row in rows:
            groups[key(row)][side].append(row)
    for ones, others in groups.values():
        yield from zip_longest(ones, others)
