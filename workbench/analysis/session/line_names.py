"""How a line of a program is named in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath


def place(file: str, line: int) -> str:
    """A line as `train.py:12`."""
    return f"{PurePath(file).name}:{line}"


def tell_apart(files: Iterable[str]) -> dict[str, str]:
    """Each file by its name, with as many of its folders as others of that name ask for."""
    parts = {file: PurePath(file).parts for file in files if file}
    return {
        file: next(
            str(PurePath(*own[-count:]))
            for count in range(1, len(own) + 1)
            if count == len(own)
            or not any(its[-count:] == own[-count:] for its in parts.values() if its != own)
        )
        for file, own in parts.items()
    }
