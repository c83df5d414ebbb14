"""The path of a file as a user gives it."""

from __future__ import annotations

import os

from workbench.errors import UsageError


def file_path(given: object) -> str:
    """The path as text; raises `UsageError` for what is none."""
    if isinstance(given, str | bytes | os.PathLike):
        return os.fsdecode(given)
    raise UsageError(
        f"The path of a file is of type {type(given).__name__}: expected a str or a pathlib.Path, "
        "such as 'model.pt2'."
    )
