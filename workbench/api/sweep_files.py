"""Sweeps as files: stores with the records of their rows, tables for other programs."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from workbench.analysis.sweep.sweep import Sweep
from workbench.file_path import check_file_path
from workbench.sweeps import load_sweep
from workbench.views.sweep import sweep_export

if TYPE_CHECKING:
    import pandas

_STORE = (".sqlite", ".sqlite3", ".db")


def load(path: str | PathLike[str] | None, which: str | int | None) -> Sweep:
    """See `Sweep.load`."""
    file = None if path is None else check_file_path(path)
    if file is not None and file.lower().endswith(sweep_export.SUFFIXES):
        return sweep_export.read(file)
    return load_sweep.opened(file, which)


def stored(path: str | PathLike[str] | None) -> pandas.DataFrame:
    """See `Sweep.stored`."""
    return load_sweep.stored(None if path is None else check_file_path(path))


def export(sweep: Sweep, path: str | PathLike[str]) -> None:
    """See `Sweep.export`."""
    file = check_file_path(path)
    is_store = file.lower().endswith(_STORE)
    load_sweep.export(sweep, file) if is_store else sweep_export.write(sweep, file)
