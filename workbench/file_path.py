"""The path of a file as a user gives it, and how it is opened on each system."""

from __future__ import annotations

import os

from workbench.errors import UsageError

_LONGEST = 255  # bytes of a name, on every usual file system
_SHOWN = 80


def check_file_path(given: object) -> str:
    """The path as text; raises `UsageError` for what is none."""
    why = explain_no_path(given)
    if why is None and isinstance(given, str | bytes | os.PathLike):
        return os.fsdecode(given)
    if why:
        text = repr(given).encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"No file can have the path {text[:_SHOWN]}: {why}.")
    raise UsageError(
        f"The file path is of type {type(given).__name__}: expected a str or a pathlib.Path, such "
        "as 'model.pt2'."
    )


def explain_no_path(given: object) -> str | None:
    """Why something cannot be the path of a file, "" for what is no path at all; else None."""
    if not isinstance(given, str | bytes | os.PathLike):
        return ""
    if type(given).__hash__ is None:
        return "it is not hashable, unlike a str"
    try:
        encoded = os.fsencode(given)
    except UnicodeEncodeError:
        return "it contains a lone surrogate"
    if b"\0" in encoded:
        return "it contains a null byte"
    if max(map(len, encoded.split(b"/"))) > _LONGEST:
        return f"one of its names is longer than {_LONGEST} bytes"
    return None if encoded else "it is empty"


def open_flags(*names: str) -> int:
    """Flags of `os.open` by name, without those that this system lacks: `O_BINARY` is Windows's."""
    flags = 0
    for name in names:
        flags |= getattr(os, name, 0)
    return flags
