"""Live views that follow what a cell does while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from workbench.cells.progress_display import call_in_subshell, is_interactive
from workbench.views.widgets.display import find_running_cell, publish_live

if TYPE_CHECKING:
    from workbench.handles.programs.session import LiveSession
    from workbench.views.session.session_view import Following, SessionView


@contextmanager
def recorded(
    shell: InteractiveShell, session: LiveSession, variable: str, *, is_viewed: bool
) -> Iterator[None]:
    """Record the body, and show it meanwhile and at its end; also of a body that raises."""
    is_live = is_viewed and getattr(shell, "kernel", None) is not None and is_interactive(shell)
    # the view is made before the session begins, whose first step would be longer for it
    view = _published(shell, session, variable) if is_live else None
    following = None
    try:
        with session:
            if view is not None:
                following = _following(shell, session, view)
            yield
    finally:
        if following is not None:
            following.end()
        if is_viewed:
            display(session)


def _published(shell: InteractiveShell, session: LiveSession, variable: str) -> SessionView:
    from workbench.views.session.session_view import SessionView

    view = call_in_subshell(
        shell, lambda: SessionView(session.so_far(), "running", variable, session)
    )
    view.cell = find_running_cell(shell)
    session.view = view
    publish_live(shell, view)
    return view


def _following(shell: InteractiveShell, session: LiveSession, view: SessionView) -> Following:
    from workbench.views.session.session_view import Following

    return Following(session, view, partial(call_in_subshell, shell))
