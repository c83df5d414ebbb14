"""How a line of a program is named in sentences."""

from __future__ import annotations

from pathlib import PurePath


def place(file: str, line: int) -> str:
    """A line as `train.py:12`."""
    return f"{PurePath(file).name}:{line}"
