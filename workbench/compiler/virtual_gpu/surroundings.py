"""What code finds around it in the user's process, taken along to the worker."""

from __future__ import annotations

import builtins
import linecache
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from workbench.compiler.internals.process_patches import StandIns
from workbench.compiler.sources.sources import Places
from workbench.compiler.virtual_gpu.messages import Surroundings


def here() -> Surroundings:
    """The surroundings of this process."""
    cells = Places().cells
    sources = {
        file: tuple(entry[2])
        for file, entry in list(linecache.cache.items())
        if len(entry) == 4 and not os.path.exists(file)
    }
    return Surroundings(tuple(sys.path), os.getcwd(), sources, cells)


@contextmanager
def inside(surroundings: Surroundings) -> Iterator[None]:
    """Work as if in the process that they were taken from."""
    folder, path = os.getcwd(), list(sys.path)
    shell = SimpleNamespace(compile=SimpleNamespace(_filename_map=dict(surroundings.cells or {})))
    with StandIns() as stand_ins:
        if surroundings.cells:  # the report names cells by what IPython says about its files
            stand_ins.attribute(builtins, "get_ipython", lambda: shell)
        for file, lines in (surroundings.sources or {}).items():
            entry = (sum(map(len, lines)), None, list(lines), file)
            stand_ins.entry(linecache.cache, file, entry)
        try:
            sys.path[:] = surroundings.import_path
            if os.path.isdir(surroundings.folder):
                os.chdir(surroundings.folder)
            yield
        finally:
            sys.path[:] = path
            os.chdir(folder)
