"""Work for the thread that runs the cells of a notebook, when none runs.

What Dynamo captures, and the state that is put back after it, must not meet a cell that runs under
Dynamo at the same time in another thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable


def run_after_cells(work: Callable[[], None]) -> None:
    """Run work in the notebook's cell thread once idle, or immediately without a kernel.

    Kernels with subshells handle a view's messages in another thread.
    """
    shells = sys.modules.get("IPython.core.interactiveshell")
    shell = shells.InteractiveShell._instance if shells is not None else None
    loop = getattr(getattr(shell, "kernel", None), "io_loop", None)
    if loop is None:
        work()
    else:
        loop.add_callback(work)
