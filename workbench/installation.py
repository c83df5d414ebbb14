"""Whether another project's files lie in this package: on PyPI, `workbench` is another project.

It brings a `workbench/__init__.py` and a `workbench/api/__init__.py` of its own, and pip lets the
project that is installed later overwrite those of the earlier one without a word.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache

_MEND = (
    "Uninstall both and install this one again: pip uninstall workbench aot-workbench, "
    "pip install aot-workbench."
)


def find_other_owner(folder: str) -> str:
    """The other distribution that owns `workbench/__init__.py` in a folder of packages, or "".

    Only the names in the folder are read: `importlib.metadata` takes longer than the whole import.
    """
    for name in os.listdir(folder):
        project, _, version = name.removesuffix(".dist-info").partition("-")
        if project != "workbench" or not name.endswith(".dist-info"):
            continue
        record = os.path.join(folder, name, "RECORD")
        if not os.path.exists(record):
            continue
        with open(record, encoding="utf-8") as lines:
            if any(line.startswith("workbench/__init__.py,") for line in lines):
                return f"{project} {version}"
    return ""


@cache
def warn_of_other_owner() -> None:
    """Warn, once in a process, where another project shares the folder of this package."""
    package = os.path.dirname(os.path.abspath(__file__))
    if other := find_other_owner(os.path.dirname(package)):
        warnings.warn(
            f"The project {other} is also installed into {package}, and each overwrites files "
            f"of the other. {_MEND}",
            stacklevel=3,
        )


def explain_overwritten() -> str:
    """What is wrong where `import workbench` gives another project's module; "" where nothing is.

    Commands and plugins ask: they are started by files that the other project does not have.
    """
    if hasattr(sys.modules["workbench"], "load_ipython_extension"):
        return ""
    return (
        "The package workbench does not belong to aot-workbench: another project has overwritten "
        f"its __init__.py. {_MEND}"
    )
