"""What code finds around it in the process that asks, taken along to another one."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from workbench.compiler.internals.patches import ProcessPatches
from workbench.processes.child import import_path

Lines = Mapping[str, tuple[Any, ...]]
"""Entries of `linecache`, by file name."""


def collect_unfiled_lines() -> Lines:
    """The lines that exist only in this process, such as those of a notebook's cells."""
    return {
        file: entry
        for file, entry in list(linecache.cache.items())
        if len(entry) == 4 and (entry[1] is None or not os.path.exists(file))
    }


@dataclass(frozen=True)
class CallerContext:
    """Where to import from, the folder, the lines that are in no file, which cells they are.

    `cells` holds the execution count by file name of those that are cells of a notebook.
    """

    import_path: tuple[str, ...] = ()
    folder: str = ""
    lines: Lines | None = None
    cells: Mapping[str, int] | None = None

    @classmethod
    def current(cls) -> CallerContext:
        """That of this process."""
        from workbench.compiler.sources.sources import Places

        return cls(import_path(), os.getcwd(), collect_unfiled_lines(), Places().cells)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Work as if in the process that it was taken from; its folder need not exist here."""
        from workbench.compiler.sources.sources import CELLS

        folder, path = os.getcwd(), list(sys.path)
        token = CELLS.set(dict(self.cells or {}))
        with ProcessPatches() as process_patches:
            for file, entry in (self.lines or {}).items():
                process_patches.entry(linecache.cache, file, entry)
            try:
                sys.path[:] = self.import_path
                if os.path.isdir(self.folder):
                    os.chdir(self.folder)
                yield
            finally:
                sys.path[:] = path
                os.chdir(folder)
                CELLS.reset(token)
