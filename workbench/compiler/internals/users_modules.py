"""Which modules are the user's: neither installed nor ours, torch's or Python's."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import sysconfig
from functools import cache
from types import ModuleType
from typing import Any

_NOT_USERS = ("workbench", "torch", "triton")


def is_users(module: Any) -> bool:
    """Whether a module was imported from a file that is neither installed nor ours or torch's."""
    if not isinstance(module, ModuleType) or sys.modules.get(module.__name__) is not module:
        return False
    file = getattr(module, "__file__", None)
    top = module.__name__.partition(".")[0]
    if file is None or top in (*_NOT_USERS, "__main__"):
        return False
    if file.startswith(_list_own_folders()) or "site-packages" in file:
        return False
    return top not in _list_installed(_find_root(module.__name__, file))


@cache
def _list_own_folders() -> tuple[str, ...]:
    """Where Python itself and its packages are: sysconfig builds the names anew at every call."""
    paths = sysconfig.get_paths()
    return tuple(paths[kind] + os.sep for kind in ("stdlib", "platstdlib", "purelib"))


def _find_root(name: str, file: str) -> str:
    """The folder from which the package of a module is imported."""
    is_package = os.path.basename(file).partition(".")[0] == "__init__"
    root = os.path.dirname(file)
    for _ in range(name.count(".") + is_package):
        root = os.path.dirname(root)
    return root


@cache
def _list_installed(folder: str) -> frozenset[str]:
    """What `pip install --target` put into a folder, by the names that are imported.

    A project under work has an .egg-info beside its package, whose files are not listed there.
    """
    found = importlib.metadata.distributions(path=[folder])
    files = [file for each in found if each.read_text("RECORD") for file in each.files or ()]
    return frozenset(file.parts[0].partition(".")[0] for file in files if file.parts)
