"""The panes of the view of a report in the order of the tabs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from workbench.errors import describe_error
from workbench.report import Report
from workbench.views.kit.blocks import Sentence
from workbench.views.panes import (
    accesses_pane,
    artifact_pane,
    autotune_pane,
    breaks_pane,
    checks_pane,
    fusion_pane,
    graphs_pane,
    kernels_pane,
    matrix_pane,
    memory_pane,
    overview_pane,
    roofline_pane,
    tables_pane,
    timeline_pane,
)
from workbench.views.panes.pane import Content, PageSection, Pane, ViewContext
from workbench.views.wire import report_messages as wire
from workbench.views.wire.report_messages import Note
from workbench.worlds.world import World, collect

_OWN: tuple[Pane, ...] = (
    overview_pane.PANE,
    graphs_pane.PANE,
    breaks_pane.PANE,
    fusion_pane.PANE,
    kernels_pane.PANE,
    timeline_pane.PANE,
    autotune_pane.PANE,
    roofline_pane.PANE,
    memory_pane.PANE,
    matrix_pane.PANE,
    artifact_pane.PANE,
    checks_pane.PANE,
    accesses_pane.PANE,
    tables_pane.PANE,
)


@cache
def list_panes() -> tuple[Pane, ...]:
    """All of them, each pane of a world behind the one that it follows."""
    panes = list(_OWN)
    ids = [pane.id for pane in _OWN]
    for pane in collect(_read_panes, Pane, "pane", ids, lambda p: p.id):
        places = (at for at, other in enumerate(panes, 1) if other.id == pane.after)
        panes.insert(next(places, len(panes)), pane)
    return tuple(panes)


def _read_panes(world: World) -> list[Any]:
    """What a world lists; of another package's pane a failure is shown in it."""
    listed = world.list_panes()
    if world.is_own:
        return [*listed]
    return [_contain(item, world.name) if isinstance(item, Pane) else item for item in listed]


def _contain(pane: Pane, world: str) -> Pane:
    """The pane, which says what its code raised in place of what it would show."""

    def draw(report: Report, context: ViewContext) -> Content:
        try:
            content = pane.document(report, context)
            if not isinstance(content, Content):
                raise TypeError(
                    f"it returned a value of type {type(content).__name__}, not a Content"
                )
        except Exception as error:  # somebody else's code, which may raise anything
            text = f"The code of the world {world} raised {describe_error(error)}."
            note: Note = {"title": "This pane failed.", "text": text, "tone": "break"}
            return Content({}, is_problem=True, empty=note)
        return content

    def build(report: Report, shown: wire.Document) -> PageSection | None:
        try:
            return None if pane.section is None else pane.section(report, shown)
        except Exception as error:  # as above
            text = f"The code of the world {world} raised {describe_error(error)}."
            return "", [Sentence(text, "warning")], True

    return replace(pane, document=draw, section=None if pane.section is None else build)
