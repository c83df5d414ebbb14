"""The log files of a path: one, or those of a folder, compressed or not."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from os import PathLike
from pathlib import Path

from workbench.errors import UsageError

_NAMES = ("*.log", "*.log.gz")
_RANK = re.compile(r"rank_(\d+)_")


def log_files(path: str | PathLike[str]) -> list[Path]:
    """The logs behind a path, by rank and then by name.

    Raises
    ------
    UsageError
        There is no such file or folder, or the folder holds no log.
    """
    where = Path(path).expanduser()
    if where.is_dir():
        found = [file for name in _NAMES for file in where.glob(name)]
        if not found:
            raise UsageError(
                f"The folder {where} holds no trace log (*.log, *.log.gz). "
                "Run the program with TORCH_TRACE set to a folder and read that one."
            )
        return sorted(found, key=lambda file: (rank_in(file.name) or 0, file.name))
    if not where.is_file():
        raise UsageError(
            f"There is no trace log {where}. Pass a file that torch wrote under TORCH_TRACE, "
            "or the folder."
        )
    return [where]


def rank_in(name: str) -> int | None:
    """The rank in the name of a log, as torch names them."""
    found = _RANK.search(name)
    return int(found[1]) if found else None


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """Open a log, also a compressed one; raises `UsageError` when it cannot be read."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield gzip.GzipFile(fileobj=file) if is_packed else file
    except (OSError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"Cannot read the trace log {path}: {reason}.") from error
