"""What the view of a session shows: its timeline, its tables, what to change.

See `document.py`.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from workbench.views.wire.advice_messages import ProposedChange
from workbench.views.wire.table_messages import TableRows


class SessionBar(TypedDict):
    """Steps `first` to `last`, which share a bar of the timeline.

    `heights` are parts of the height of the picture, from below: compiling, in compiled graphs,
    outside of graphs. `marks` are signs for what happened in it, `words` say all of it; `why` is a
    sentence where it was slow. `rows` are ids of rows of tables that belong to it.
    """

    first: int
    last: int
    heights: list[float]
    marks: str
    words: str
    why: str
    rows: list[str]


class SessionChange(TypedDict):
    """What to change in a sentence, with the ways to write it."""

    sentence: str
    patches: list[ProposedChange]


class SessionDocument(TypedDict):
    """A session as far as it is.

    `title` counts what happened, `facts` say how it was recorded. `scale` are lines of the picture:
    how high, and their words. `slow` are sentences on the slowest steps. `can_open` are ids of the
    compiles that have a report. `changes` are the sentences of `advice` with their patches.
    """

    version: int
    variable: str
    status: Literal["running", "done"]
    title: str
    facts: str
    notes: list[str]
    advice: list[str]
    changes: list[SessionChange]
    slow: list[str]
    bars: list[SessionBar]
    scale: list[tuple[float, str]]
    tables: list[TableRows]
    can_open: list[str]


class EmbeddedSession(TypedDict):
    """What a page or a saved output of a session carries."""

    session: SessionDocument
