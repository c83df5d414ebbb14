"""Sweeps as files: stores with the records of their rows, tables for other programs."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from workbench.analysis.sweep.sweep import Sweep
from workbench.file_path import file_path
from workbench.sweeps import load_sweep
from workbench.views.sweep import exchange

if TYPE_CHECKING:
    import pandas

_STORE = (".sqlite", ".sqlite3", ".db")


def load(path: str | PathLike[str] | None, which: str | int | None) -> Sweep:
    """See `Sweep.load`."""
    if path is not None and file_path(path).lower().endswith(exchange.SUFFIXES):
        return exchange.read(path)
    return load_sweep.opened(path, which)


def stored(path: str | PathLike[str] | None) -> pandas.DataFrame:
    """See `Sweep.stored`."""
    return load_sweep.stored(path)


def export(sweep: Sweep, path: str | PathLike[str]) -> None:
    """See `Sweep.export`."""
    is_store = file_path(path).lower().endswith(_STORE)
    load_sweep.export(sweep, path) if is_store else exchange.write(sweep, path)
