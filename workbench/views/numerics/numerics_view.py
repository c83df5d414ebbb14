"""What was found of the numbers, in a notebook: the view of its compilation with that pane open."""

from __future__ import annotations

from workbench.analysis.numerics.numerics_record import Numerics
from workbench.views.document import ViewContext
from workbench.views.numerics.apart_answer import fragment as fragment_of_two
from workbench.views.numerics.apart_answer import page as page_of_two
from workbench.views.widgets.display import display_record, show

__all__ = ["display", "fragment_of_two", "page_of_two"]


def display(found: Numerics) -> None:
    """See `display_record`; the view is that of the compilation where it is alive."""
    subject = getattr(found, "asked", found.report)
    shown = show(subject, ViewContext(variable="compiled", pane="numerics"))
    display_record(found, shown.live, lambda _, **how: shown.keep(**how))
