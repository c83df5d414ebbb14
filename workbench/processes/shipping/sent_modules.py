"""Modules as far as they were sent to this process: what an import finds meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import FunctionType, ModuleType
from typing import Any

from workbench.compiler.internals.patches import ProcessPatches

Named = tuple[str, str, Any]
"""A class or function that was sent: its module, its name there, itself."""


@contextmanager
def import_sent_modules(named: Sequence[Named]) -> Iterator[None]:
    """Have what was sent be found by import, until the block is left."""
    modules: dict[str, list[Named]] = {}
    for entry in named:
        modules.setdefault(entry[0], []).append(entry)
    with ProcessPatches() as process_patches:
        for name, entries in modules.items():
            scope = _globals(value for _, _, value in entries)
            scope |= {own: value for _, own, value in entries}
            if name == "__main__":
                for own, value in scope.items():
                    process_patches.attribute(sys.modules[name], own, value)
            else:
                process_patches.entry(sys.modules, name, _SentModule(name, scope))
        yield


class _SentModule(ModuleType):
    """A module as far as it was sent; the rest of it is imported when asked for."""

    def __init__(self, name: str, sent: Mapping[str, Any]):
        super().__init__(name)
        self._rest = sys.modules.get(name)  # where an operator that it defines was needed
        package = name.rpartition(".")[0]
        self.__spec__ = PathFinder.find_spec(name, _places(package) if package else None)
        if self.__spec__ is not None:
            self.__file__ = self.__spec__.origin
            if self.__spec__.submodule_search_locations is not None:
                self.__path__ = self.__spec__.submodule_search_locations
        self.__dict__.update(sent)

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        if name.startswith("__") or spec is None or spec.loader is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if self._rest is None:
            self._rest = module_from_spec(spec)
            spec.loader.exec_module(self._rest)
        return getattr(self._rest, name)


def _places(package: str) -> list[str]:
    """The folders of a package's modules, of one that is not imported too."""
    if package in sys.modules:
        return list(getattr(sys.modules[package], "__path__", ()))
    within, _, name = package.rpartition(".")
    spec = PathFinder.find_spec(name, _places(within) if within else None)
    return [] if spec is None else list(spec.submodule_search_locations or ())


def _globals(values: Iterator[Any]) -> dict[str, Any]:
    """What the functions among these and the methods of the classes read as globals."""
    scope: dict[str, Any] = {}
    for value in values:
        parts = vars(value).values() if isinstance(value, type) else (value,)
        for function in parts:
            if isinstance(function, FunctionType):
                scope |= function.__globals__
    return {name: value for name, value in scope.items() if not name.startswith("__")}
