"""Errors as a notebook shows them: the message first, the traceback on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from IPython.core.error import UsageError as OneLine
from IPython.core.interactiveshell import InteractiveShell

from workbench.errors import UsageError, WorkbenchError


class Brief:
    """IPython asks this for an exception's traceback: only the message, until a later cell asks."""

    def __init__(self, shell: InteractiveShell, error: BaseException, lines: list[str]):
        self._shell = shell
        self._error = error
        self._lines = lines
        self._cell = shell.execution_count

    def __call__(self) -> list[str]:
        """The lines to print; `%tb`, in a later cell, gets the full traceback."""
        if self._shell.execution_count == self._cell:
            return self._lines
        kind, trace = type(self._error), self._error.__traceback__
        full: list[str] = self._shell.InteractiveTB.structured_traceback(kind, self._error, trace)
        return full


@contextmanager
def plain_errors(shell: InteractiveShell, magic: str) -> Iterator[None]:
    """Usage errors become one line, our other errors their message without a traceback."""
    try:
        yield
    except UsageError as error:
        raise OneLine(f"{magic}: {error}") from error
    except WorkbenchError as error:
        lines = [f"{type(error).__name__}: {error}", "", "%tb shows the traceback."]
        error._render_traceback_ = Brief(shell, error, lines)  # type: ignore[attr-defined]
        raise
    except KeyboardInterrupt as error:
        line = f"Interrupted: {magic} was stopped and bound nothing. torch is usable."
        error._render_traceback_ = Brief(shell, error, [line])  # type: ignore[attr-defined]
        raise
