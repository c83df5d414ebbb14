"""Messages of a view that belong to no cell, so that its buttons work while a cell runs."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from IPython.core.interactiveshell import InteractiveShell

T = TypeVar("T")


def in_subshell(shell: InteractiveShell, call: Callable[[], T]) -> T:
    """Call something whose widget messages have no parent, so that answers arrive at once.

    JupyterLab sends what a widget asks to a subshell of ipykernel 7, which reads it while a cell
    runs. From release 7.4 on ipykernel takes it to the shell that has sent last on that widget
    instead: to that of the cell, which is busy. A message without a parent leaves it as it is.
    """
    kernel: Any = getattr(shell, "kernel", None)
    if getattr(kernel, "shell_channel_thread", None) is None:
        return call()  # no subshells
    from ipykernel.kernelbase import Kernel

    def run() -> T:
        Kernel.set_parent(kernel, [], {}, channel="shell")  # of this copy of the context alone
        return call()

    return copy_context().run(run)
