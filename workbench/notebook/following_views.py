"""Live views that follow what a cell does while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from workbench.notebook.progress_display import is_interactive
from workbench.report.program.program_record import ProgramRecords, require_program_records
from workbench.views.widgets.display import find_running_cell, publish_live

T = TypeVar("T")


def call_in_subshell(shell: InteractiveShell, call: Callable[[], T]) -> T:
    """Call something whose widget messages have no parent, so that answers arrive at once.

    JupyterLab sends what a widget asks to a subshell of ipykernel 7, which reads it while a cell
    runs. From release 7.4 on ipykernel takes it to the shell that has sent last on that widget
    instead: to that of the cell, which is busy. A message without a parent leaves it as it is.
    """
    kernel: Any = getattr(shell, "kernel", None)
    if getattr(kernel, "shell_channel_thread", None) is None:
        return call()  # no subshells
    from ipykernel.kernelbase import Kernel

    def run() -> T:
        Kernel.set_parent(kernel, [], {}, channel="shell")  # of this copy of the context alone
        return call()

    return copy_context().run(run)


@contextmanager
def recorded(
    shell: InteractiveShell, session: Any, variable: str, *, is_viewed: bool
) -> Iterator[None]:
    """Record the body, and show it meanwhile and at its end; also of a body that raises.

    The session is what `api.session` gives.
    """
    is_live = is_viewed and getattr(shell, "kernel", None) is not None and is_interactive(shell)
    # the view is made before the session begins, whose first step would be longer for it
    records = require_program_records("%%aot_session")
    view = _published(shell, session, variable, records) if is_live else None
    following = None
    try:
        with session:
            if view is not None:
                following = records.follow(session, view, partial(call_in_subshell, shell))
            yield
    finally:
        if following is not None:
            following.end()
        if is_viewed:
            display(session)


def _published(
    shell: InteractiveShell, session: Any, variable: str, records: ProgramRecords
) -> Any:
    view = call_in_subshell(shell, lambda: records.open_view(session, variable))
    view.cell = find_running_cell(shell)
    publish_live(shell, view)
    return view
