"""Loading and unloading inside IPython; unloading leaves it as it was found."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from workbench import api
from workbench.notebook.completion import matcher
from workbench.notebook.magics import WorkbenchMagics
from workbench.notebook.progress import is_interactive


def load(shell: InteractiveShell) -> None:
    """Register the magics and their completion; warm the compiler's cache for a person."""
    magics = WorkbenchMagics(shell)
    magics.found = {kind: dict(table) for kind, table in shell.magics_manager.magics.items()}
    shell.register_magics(magics)
    if shell.Completer is not None:
        magics.matcher = matcher(shell)
        shell.Completer.custom_matchers.append(magics.matcher)
    if is_interactive(shell):
        magics.warm_up = api.warm_up()


def unload(shell: InteractiveShell) -> None:
    """Take back what `load` registered; what had our names before gets them again."""
    manager = shell.magics_manager
    magics: Any = manager.registry.pop(WorkbenchMagics.__name__, None)
    if magics is None:
        return
    if magics.warm_up is not None:
        magics.warm_up.stop()
    for kind, names in magics.magics.items():
        for name in names:
            manager.magics[kind].pop(name, None)
            if name in magics.found[kind]:
                manager.magics[kind][name] = magics.found[kind][name]
    if shell.Completer is not None and magics.matcher in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(magics.matcher)
