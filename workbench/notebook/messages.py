"""Errors as a notebook shows them: the message first, the traceback on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from IPython.core.error import UsageError as OneLine

from workbench.errors import UsageError, WorkbenchError


class Brief:
    """IPython asks this for an exception's traceback: the first time it is only the message."""

    def __init__(self, lines: list[str]):
        self._lines: list[str] | None = lines

    def __call__(self) -> list[str]:
        """The message; when asked again IPython falls back to the full traceback."""
        if self._lines is None:
            raise LookupError
        lines, self._lines = self._lines, None
        return lines


@contextmanager
def plain_errors(magic: str) -> Iterator[None]:
    """Usage errors become one line, our other errors their message without a traceback."""
    try:
        yield
    except UsageError as error:
        raise OneLine(f"{magic}: {error}") from error
    except WorkbenchError as error:
        _be_brief(error, [f"{type(error).__name__}: {error}", "", "%tb shows the traceback."])
        raise
    except KeyboardInterrupt as error:
        _be_brief(error, [f"Interrupted: {magic} was stopped and bound nothing. torch is usable."])
        raise


def _be_brief(error: BaseException, lines: list[str]) -> None:
    error._render_traceback_ = Brief(lines)  # type: ignore[attr-defined]
