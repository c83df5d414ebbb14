"""What every pane is: an id, a title, and what reads its data from a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.report import Report
from workbench.views.wire import document as wire
from workbench.views.wire.machine import Targets


@dataclass(frozen=True)
class Setting:
    """What a report cannot know: how the user calls the result, what is alive, what was saved."""

    variable: str = "report"
    sandbox: wire.Sandbox | None = None
    """The inputs to edit where the guards are alive; without it they are only described."""
    targets: Targets | None = None
    """What the call can be compiled for in place, where it is alive."""
    saved: tuple[str, int] | None = None
    """The path and the size in bytes of the artifact."""
    dropped: tuple[str, ...] = ()
    """What was taken out before sharing."""


@dataclass(frozen=True)
class Content:
    """What a pane adds to the document, by key, and what its tab shows.

    `empty` says why there is nothing to see in it and what would change that.
    """

    data: Mapping[str, object]
    count: int | None = None
    is_problem: bool = False
    empty: wire.Note | None = None


@dataclass(frozen=True)
class Pane:
    """One pane of the view of a report."""

    id: wire.PaneId
    title: str
    document: Callable[[Report, Setting], Content]
