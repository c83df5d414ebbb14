"""`%%aot_session`: a cell that runs while a session records, with a view that follows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import cell_magic, magics_class
from IPython.core.magic_arguments import magic_arguments
from IPython.display import display

from workbench.cells.call import find_last_output, run_cell
from workbench.cells.option_magics import (
    NO_VIEW,
    OUTPUT,
    Operand,
    Option,
    OptionMagics,
    show_plain_errors,
    with_options,
)
from workbench.cells.progress_display import call_in_subshell, is_interactive
from workbench.errors import UsageError
from workbench.views.widgets.display import find_running_cell, publish_live
from workbench.worlds.sessions import calls
from workbench.worlds.sessions.handles.live_session import LiveSession

if TYPE_CHECKING:
    from workbench.worlds.sessions.views.session_view import SessionView

SESSION = (
    OUTPUT,
    Option(("--full",), "recompile everything without torch's caches, for complete reports"),
    Option(
        ("--steps",),
        "optimizer: a step ends at each optimizer.step()",
        "WHAT",
        choices=("optimizer",),
    ),
    Option(("--profile",), "also run torch.profiler; NAME.profile has its result"),
    NO_VIEW,
)
_NOTHING = Operand("rest", "not used: write the code in the cell", 0)


@magics_class
class SessionMagics(OptionMagics):
    """`%%aot_session`."""

    @magic_arguments()
    @with_options(SESSION, _NOTHING)
    @cell_magic
    def aot_session(self, line: str, cell: str) -> Any:
        """Run a cell and record what plain torch.compile does in it.

        With -o, the name is bound before the cell runs: end a step with NAME.step(), or iterate
        over NAME.steps(loader). A cell that raises or is interrupted keeps its data so far:

            %%aot_session -o run
            for batch in run.steps(loader):
                train(batch)
        """
        with show_plain_errors(self.shell, "%%aot_session"):
            chosen, rest = self.parse_line(self.aot_session, line)
            if rest:
                raise UsageError(f"write the code in the cell, not after %%aot_session: {rest}")
            session = calls.session(
                "full" if chosen.full else "light", chosen.steps, profile=chosen.profile
            )
            self.bind(session, chosen.output)
            variable = chosen.output or find_last_output(self.shell)
            with _recorded(self.shell, session, variable, is_viewed=not chosen.no_view):
                return run_cell(self.shell, cell)


@contextmanager
def _recorded(
    shell: InteractiveShell, session: LiveSession, variable: str, *, is_viewed: bool
) -> Iterator[None]:
    """Record the body, and show it meanwhile and at its end; also of a body that raises."""
    is_live = is_viewed and getattr(shell, "kernel", None) is not None and is_interactive(shell)
    # the view is made before the session begins, whose first step would be longer for it
    view = _publish(shell, session, variable) if is_live else None
    following = None
    try:
        with session:
            if view is not None:
                from workbench.worlds.sessions.views.session_view import Following

                following = Following(session, view, partial(call_in_subshell, shell))
            yield
    finally:
        if following is not None:
            following.end()
        if is_viewed:
            display(session)


def _publish(shell: InteractiveShell, session: LiveSession, variable: str) -> SessionView:
    from workbench.worlds.sessions.views.session_view import SessionView

    view = call_in_subshell(
        shell, lambda: SessionView(session.so_far(), "running", variable, session)
    )
    view.cell = find_running_cell(shell)
    session.view = view
    publish_live(shell, view)
    return view
