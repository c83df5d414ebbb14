"""Which modules are the user's: neither installed nor ours, torch's or Python's."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType, ModuleType
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
    distributions = importlib.metadata.distributions(path=[folder])
    files = [
        file
        for distribution in distributions
        if distribution.read_text("RECORD")
        for file in distribution.files or ()
    ]
    return frozenset(file.parts[0].partition(".")[0] for file in files if file.parts)


def is_edited(module: ModuleType) -> bool:
    """Whether a function of an imported module is another one in its file by now."""
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    if not isinstance(loader, SourceFileLoader):  # as pytest's, which changes what it imports
        return False
    try:
        there = loader.get_code(module.__name__)
    except (OSError, SyntaxError):
        return True
    outlines = set() if there is None else {_outline(code) for code in _list_codes(there)}
    return any(_outline(code) not in outlines for code in _list_functions(module))


def _list_functions(module: ModuleType) -> Iterator[CodeType]:
    """The code of the functions and methods that the file of a module defines."""
    values = list(vars(module).values())
    for value in list(values):
        if isinstance(value, type) and value.__module__ == module.__name__:
            values += vars(value).values()
    for value in values:
        if isinstance(value, FunctionType) and value.__code__.co_filename == module.__file__:
            yield value.__code__


def _list_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_codes(constant)


def _outline(code: CodeType) -> tuple[Any, ...]:
    """All of a function but its lines: a comment above it does not change it."""
    constants = [_outline(c) if isinstance(c, CodeType) else (type(c), c) for c in code.co_consts]
    return code.co_qualname, code.co_code, code.co_names, *constants
