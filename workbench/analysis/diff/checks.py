"""Graph breaks, guards and recompilations that came, went or changed."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import zip_longest
from typing import TypeVar

from workbench.analysis.diff.difference import Change
from workbench.report import Break, Guard, Recompile, Report

Row = TypeVar("Row")
_COUNTED = re.compile(r"(?<=')(__\w*?_|_)\d+(?:_c\d+)?(?=')")


def break_changes(a: Report, b: Report) -> tuple[list[Change], int]:
    """Breaks on the same line of code (wherever it stands) for the same reason are the same."""
    found: list[Change] = []
    same = 0
    for one, other in _paired(a.breaks, b.breaks, lambda r: (r.function, r.text.strip(), r.kind)):
        row = one or other
        assert row is not None
        if one and other and (one.reason, one.count) == (other.reason, other.count):
            same += 1
            continue
        change = "changed" if one and other else "removed" if one else "added"
        note = row.explanation or row.reason
        texts = _break_text(one), _break_text(other)
        ids = (one.id if one else None), (other.id if other else None)
        found.append(Change("breaks", row.text.strip(), change, *texts, "", note, *ids))
    return found, same


def _break_text(row: Break | None) -> str | None:
    if row is None:
        return None
    return f"{row.file}:{row.line} {row.kind}{f', {row.count} times' if row.count > 1 else ''}"


def _uncounted(text: str) -> str:
    """A source without the numbers that Dynamo gives to its own globals in each process."""
    return _COUNTED.sub(r"\1#", text)


def guard_changes(a: Report, b: Report) -> tuple[list[Change], int]:
    """Guards of one kind on one source are the same guard; its conditions may differ.

    Where there are several, such as the guards of a log that name no source, those with equal
    conditions belong together first.
    """
    found: list[Change] = []
    same = 0
    pairs: list[tuple[Guard | None, Guard | None]] = []
    rest: tuple[list[Guard], list[Guard]] = ([], [])
    for one, other in _paired(a.guards, b.guards, _with_conditions):
        if one and other:
            pairs.append((one, other))
        else:
            rest[0].extend([one] if one else [])
            rest[1].extend([other] if other else [])
    for one, other in [*pairs, *_paired(*rest, _named)]:
        changes = list(_guard(one, other))
        same += not changes
        found += changes
    # guards that are kept say what the compiled code needs: those first
    return sorted(found, key=lambda c: c.note.startswith("not kept")), same


def _named(row: Guard) -> tuple[str, str]:
    return row.kind, _uncounted(row.source)


def _with_conditions(row: Guard) -> tuple[str, ...]:
    return (*_named(row), *map(_uncounted, row.code))


def _guard(a: Guard | None, b: Guard | None) -> Iterator[Change]:
    row = a or b
    assert row is not None
    item = f"{row.kind} {row.source}".strip()
    ids = (a.id if a else None), (b.id if b else None)
    if a is None or b is None:
        texts = _conditions(a), _conditions(b)
        note = "" if row.kept else f"not kept: {row.why_dropped or ''}"
        yield Change("guards", item, "added" if a is None else "removed", *texts, "", note, *ids)
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
            yield Change(
                "guards", item, "changed",
                "; ".join(only_a) or None, "; ".join(only_b) or None, "", note, *ids,
            )  # fmt: skip


def _kept(row: Guard) -> str:
    return "kept" if row.kept else "dropped"


def _conditions(row: Guard | None) -> str | None:
    return None if row is None else "; ".join(row.code) or _kept(row)


def recompile_changes(a: Report, b: Report) -> tuple[list[Change], int]:
    """Compilations of a function once more, by the reason."""
    found: list[Change] = []
    same = 0
    for one, other in _paired(a.recompiles, b.recompiles, lambda r: (r.function, r.reason)):
        row = one or other
        assert row is not None
        if one and other:
            same += 1
            continue
        texts = (_why(one), _why(other))
        found.append(Change("recompiles", row.function, "removed" if one else "added", *texts))
    return found, same


def _why(row: Recompile | None) -> str | None:
    return None if row is None else row.reason


def _paired(
    a: Iterable[Row], b: Iterable[Row], key: Callable[[Row], Hashable]
) -> Iterator[tuple[Row | None, Row | None]]:
    """Rows with equal keys, in the order of a; several of one key in their order."""
    others: dict[Hashable, deque[Row]] = defaultdict(deque)
    for row in b:
        others[key(row)].append(row)
    ones: dict[Hashable, list[Row]] = defaultdict(list)
    for row in a:
        ones[key(row)].append(row)
    for name, rows in ones.items():
        yield from zip_longest(rows, others.pop(name, ()))
    for rest in others.values():
        yield from ((None, row) for row in rest)
