"""A change of the program as a view shows it: a small diff, what to copy, how to try it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from workbench.analysis.changes.change import Change, Edit

Sign = Literal["-", "+", " ", "@", ""]


def list_change_lines(
    change: Change, name_place: Callable[[Edit], str] | None = None
) -> list[tuple[Sign, str]]:
    """The signs and texts of a small diff, without the indentation that all lines share.

    `name_place` gives the words of a place; without it edits stand below one another. A change
    without edits is its code alone.
    """
    if not change.edits and not change.before_call:
        return list_code_lines(change.code)
    lines = list(_list_lines(change, name_place))
    texts = [text for sign, text in lines if sign != "@"]
    cut = iter(textwrap.dedent("\n".join(texts)).split("\n"))
    return [(sign, text if sign == "@" else next(cut)) for sign, text in lines]


def list_code_lines(code: str) -> list[tuple[Sign, str]]:
    """Code that stands by itself."""
    return [("", line) for line in code.splitlines()]


def _list_lines(
    change: Change, name_place: Callable[[Edit], str] | None
) -> Iterator[tuple[Sign, str]]:
    for line in change.above:
        yield "+", line
    for edit in change.edits:
        if name_place is not None:
            yield "@", name_place(edit)
        yield from _compare_lines(edit.before, edit.after)
    if not change.edits:
        yield "@", "before each call"
        for line in change.before_call:
            yield "+", line
    if change.settings:
        yield "@", "before it is compiled"
        for setting in change.settings:
            yield "+", setting.code


def _compare_lines(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[Sign, str]]:
    """Lines that go, that come and that stay."""
    for kind, start, end, first, last in SequenceMatcher(
        a=before, b=after, autojunk=False
    ).get_opcodes():
        for line in before[start:end]:
            yield (" " if kind == "equal" else "-"), line
        for line in () if kind == "equal" else after[first:last]:
            yield "+", line
