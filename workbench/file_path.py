"""The path of a file as a user gives it, and how it is opened on each system."""

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


def open_flags(*names: str) -> int:
    """Flags of `os.open` by name, without those that this system lacks: `O_BINARY` is Windows's."""
    flags = 0
    for name in names:
        flags |= getattr(os, name, 0)
    return flags
