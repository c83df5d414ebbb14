"""Two profiles as the one document that a widget and a page show; plain JSON-ready data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from workbench.number_text import number_text
from workbench.views.tables.column import Column, Shown, pack_table
from workbench.worlds.profiles.matches.profile_difference import (
    ModuleChange,
    OneSided,
    OperatorChange,
    ProfileDiff,
    format_change,
)
from workbench.worlds.profiles.views.messages import ProfileCard, ProfileDiffDocument

VERSION = 1
MOST_ROWS = 500
"""Rows of a table in a view: those that differ most; `.frame()` has all."""
_DRAWN = ("a_part", "b_part", "change_part")
_TIMES = (
    Column("a", "a_us", "us", width="72px"),
    Column("b", "b_us", "us", width="72px"),
    Column("a over b", "both", width="minmax(70px, 0.8fr)", field="b_us", is_wide=True),
    Column("Difference", "difference_us", "us", width="minmax(150px, 1fr)"),
)
_MODULES = (
    Column("Module", "shown", "code", width="minmax(150px, 2fr)", full="module"),
    *_TIMES,
    Column("Kernels", "kernels", "right", width="96px", is_wide=True),
)
_OPERATORS = (
    Column("Operator", "operator", "code", width="minmax(110px, 1.2fr)"),
    Column("Sizes", "sizes", width="minmax(80px, 1fr)", is_wide=True),
    Column("Module", "class_name", "code", width="minmax(90px, 1fr)", full="module"),
    *_TIMES,
)
_KERNELS = (
    Column("Kernel", "name", "code", width="minmax(160px, 3fr)"),
    Column("Only in", "side", "word", width="64px"),
    Column("Calls", "calls", "number", width="64px", is_wide=True),
    Column("Time", "time_us", "us", width="72px"),
    Column("Operator", "operator", "code", is_wide=True),
    Column("Module", "class_name", "code", full="module"),
)
_WHOLE = (Column("Quantity", "what"), Column("a → b", "words"))


def list_changes(diff: ProfileDiff) -> list[Shown]:
    """What became faster or slower by module and operator, what only one ran, the whole."""
    modules = [
        {
            **_add_parts(row, diff.modules),
            "kernels": f"{row.a_kernels:,.0f} → {row.b_kernels:,.0f}",
        }
        for row in diff.modules
    ]
    operators = [
        {
            **_add_parts(row, diff.operators),
            "sizes": _say_sizes(row),
            "class_name": _shorten(row.module, 1),
        }
        for row in diff.operators
    ]
    kernels = [{**asdict(row), "class_name": _shorten(row.module, 1)} for row in diff.kernels]
    whole = [{"what": row.what, "words": row.words, "size": row.a} for row in diff.changes]
    by, what, none = "size", diff.what.capitalize(), f"Neither has {diff.what}s."
    in_modules = (*_MODULES[:-1], replace(_MODULES[-1], title=f"{what}s"))
    alone = (replace(_KERNELS[0], title=what), *_KERNELS[1:])
    return [
        Shown("modules", "Modules", in_modules, modules, none, by),
        Shown("operators", "Operators", _OPERATORS, operators, none, by),
        Shown("kernels", "Only in one", alone, kernels, "Both ran the same.", "time_us"),
        Shown("whole", "Whole", _WHOLE, whole, "", by),
    ]


def _add_parts(
    row: ModuleChange | OperatorChange, rows: Iterable[ModuleChange | OperatorChange]
) -> dict[str, Any]:
    """The row with the lengths of its bars: parts of the longest time, of the most that differs."""
    most = max((max(each.a_us, each.b_us) for each in rows), default=0.0) or 1.0
    change = max((abs(each.difference_us) for each in rows), default=0.0) or 1.0
    return {
        **asdict(row),
        "shown": _shorten(row.module),
        "a_us": row.a_us or None,  # it was not there: that is no time of 0
        "b_us": row.b_us or None,
        "size": abs(row.difference_us),
        "a_part": row.a_us / most,
        "b_part": row.b_us / most,
        "change_part": row.difference_us / change,
    }


def _shorten(module: str, classes: int = 2) -> str:
    """The last classes of a path."""
    return ".".join(module.split(".")[-classes:]) or "outside modules"


def _say_sizes(row: OperatorChange) -> str:
    shapes: Iterator[Any] = (
        s for shape in row.shapes for s in (shape if _is_list(shape) else (shape,))
    )
    return ", ".join(" × ".join(map(str, shape)) for shape in shapes if shape)


def _is_list(shape: Sequence[Any]) -> bool:
    """Whether an argument is a list of tensors: it has a shape for each of them."""
    return bool(shape) and isinstance(shape[0], list | tuple)


def document_of_two(diff: ProfileDiff) -> ProfileDiffDocument:
    """Everything that a view shows of two profiles."""
    ties: dict[str, list[str]] = defaultdict(list)
    modules = {row.module: f"modules:{place}" for place, row in enumerate(diff.modules)}
    cards: dict[str, ProfileCard] = {}
    for place, row in enumerate(diff.modules[:MOST_ROWS]):
        card = _card_times("Module", _shorten(row.module), row, row.module)
        calls = (f"{diff.what.capitalize()}s", f"{row.a_kernels:,.0f} → {row.b_kernels:,.0f}")
        cards[f"modules:{place}"] = {**card, "facts": [*card["facts"], calls]}
    parts: list[tuple[str, OperatorChange | OneSided]] = [
        *((f"operators:{place}", each) for place, each in enumerate(diff.operators[:MOST_ROWS])),
        *((f"kernels:{place}", each) for place, each in enumerate(diff.kernels[:MOST_ROWS])),
    ]
    for id, part in parts:
        if isinstance(part, OperatorChange):
            cards[id] = _card_operator(part)
        else:
            cards[id] = _card(part, diff.what.capitalize())
        if (module := modules.get(part.module)) is not None:
            ties[id].append(module)
            ties[module].append(id)
    return {
        "version": VERSION,
        "variable": "diff",
        "names": list(diff.names),
        "sentence": diff.sentence,
        "warnings": list(diff.notes),
        "tables": [pack_table(each, MOST_ROWS, _DRAWN) for each in list_changes(diff)],
        "cards": cards,
        "ties": dict(ties),
    }


def _card_times(
    caption: str, title: str, row: ModuleChange | OperatorChange, full: str
) -> ProfileCard:
    facts = [("a", _us(row.a_us)), ("b", _us(row.b_us))]
    if row.a_us and row.b_us:
        change = format_change(row.b_us / row.a_us - 1)
        facts.append(("Difference", f"{_sign(row.difference_us)}, {change}"))
    else:
        facts.append(
            ("Difference", f"{_sign(row.difference_us)}: only in {'b' if row.b_us else 'a'}")
        )
    return {
        "caption": caption,
        "title": title,
        "facts": facts,
        "why": "",
        "next": "",
        "code": "",
        "record": [],
        "full": full,
        "path": f"{title}: {_us(row.a_us)} → {_us(row.b_us)}",
    }


def _card_operator(row: OperatorChange) -> ProfileCard:
    sides = ((side, name) for side, name in (("a", row.a_kernel), ("b", row.b_kernel)) if name)
    kernels = "\n".join(f"{side}: {name}" for side, name in sides)
    card = _card_times("Operator", row.operator, row, kernels)
    more = [("Sizes", _say_sizes(row)), ("Module", row.module)]
    return {**card, "facts": [*card["facts"], *(fact for fact in more if fact[1])]}


def _card(row: OneSided, what: str) -> ProfileCard:
    facts = [("Time", _us(row.time_us)), ("Calls", f"{row.calls:,.4g}")]
    more = (("Operator", row.operator), ("Module", row.module))
    return {
        "caption": f"{what}, only in {row.side}",
        "title": row.operator or row.name[:60],
        "facts": [*facts, *(fact for fact in more if fact[1])],
        "why": "",
        "next": "",
        "code": "",
        "record": [],
        "full": row.name,
        "path": f"only in {row.side}: {_us(row.time_us)}",
    }


def _us(value: float) -> str:
    return number_text(value * 1e-6, "seconds")


def _sign(value: float) -> str:
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{_us(abs(value))}"
