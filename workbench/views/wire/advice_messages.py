"""What to do next: at most five opportunities, and what became of those that were tried.

See `document.py`. The part `tried:o0` is the difference of one that was tried, a `DiffDocument`.
"""

from __future__ import annotations

from typing import TypedDict


class TriedChange(TypedDict):
    """What was measured: a row for each figure, its name, before and after; `part` has the rest.

    `agrees` is None where the outputs were not compared; `checked` says what was, or why not.
    """

    rows: list[tuple[str, str, str]]
    saved: str
    agrees: bool | None
    checked: str
    part: str


class Opportunity(TypedDict):
    """One change, with what it saves and where that is from.

    `saving` is a range in a sentence, `short` its first part; `sure_words` say what `sure` means.
    `line_id` and `place` are the line that it is about. `before` and `after` are lines of a
    rewrite, without `before` what to write; `action` are the arguments that change. `why_not` says
    why it cannot be tried here, or is None.
    """

    id: str
    rule: str
    text: str
    saving: str
    short: str
    sure: str
    sure_words: str
    source: str
    line_id: str | None
    place: str | None
    before: list[str]
    after: list[str]
    action: str | None
    why_not: str | None
    tried: TriedChange | None


class Advice(TypedDict):
    """The opportunities that save most; `more` are in the table, `none` says why there is none."""

    rows: list[Opportunity]
    more: int
    none: str
