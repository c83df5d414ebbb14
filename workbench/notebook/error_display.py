"""Errors as a notebook shows them: the message first, the traceback on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from IPython.core.error import UsageError as OneLine
from IPython.core.interactiveshell import InteractiveShell

from workbench.errors import UsageError, WorkbenchError


def _shorten(shell: InteractiveShell, error: BaseException, lines: list[str]) -> None:
    """Have IPython print these lines; `%tb`, in a later cell, gets the full traceback."""
    cell = shell.execution_count

    def render() -> list[str]:
        if shell.execution_count == cell:
            return lines
        kind, trace = type(error), error.__traceback__
        full: list[str] = shell.InteractiveTB.structured_traceback(kind, error, trace)
        return full

    error._render_traceback_ = render  # type: ignore[attr-defined]


@contextmanager
def show_plain_errors(shell: InteractiveShell, magic: str) -> Iterator[None]:
    """Usage errors become one line, our other errors their message without a traceback."""
    try:
        yield
    except UsageError as error:
        raise OneLine(f"{magic}: {error}") from error
    except WorkbenchError as error:
        lines = [f"{type(error).__name__}: {error}", "", "%tb shows the traceback."]
        _shorten(shell, error, lines)
        raise
    except KeyboardInterrupt as error:
        line = f"Interrupted: {magic} was stopped and bound nothing. torch is usable."
        _shorten(shell, error, [line])
        raise
