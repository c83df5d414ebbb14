"""What a world may add to the workbench, and the worlds that are installed.

A world is a folder of `workbench/worlds` with a module `world.py`, or an object that a package
names under the entry point `aot_workbench.worlds`. The rest of the workbench asks `list_worlds()`
and names none.
"""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import workbench.worlds

GROUP = "aot_workbench.worlds"
"""The entry point under which a package names its `World`."""
Part = TypeVar("Part")


class World:
    """What one world adds; whatever it leaves out adds nothing.

    Methods import what they give when they are called: a world costs nothing until it is used.
    """

    name: str
    title: str = ""
    """What its page of the reference is called, where it has names."""
    names: Mapping[str, str] = {}
    """Names of the public API, each with the module that defines it."""
    kept: Sequence[str] = ()
    """Keys of `Report.extra` that stay in a record when its sources are dropped."""

    @property
    def folder(self) -> Path:
        """Its own folder."""
        module = import_module(type(self).__module__)
        return Path(str(module.__file__)).parent

    @property
    def is_own(self) -> bool:
        """Whether it is a folder of this package."""
        return type(self).__module__.startswith(f"{workbench.worlds.__name__}.")

    @property
    def terms(self) -> Path:
        """The file that says what the words of its tables mean; it need not exist."""
        return self.folder / "terms.json"

    def list_tables(self) -> Mapping[str, tuple[type, str]]:
        """Tables of a report by name: the data class of a row, and a sentence on what it holds."""
        return {}

    def find_shown(self, kind: str) -> Any:
        """The `Shown` of a kind of record, by the name of its class; None for another."""
        return None

    def list_panes(self) -> Sequence[Any]:
        """Each a `Pane` of the view of a report."""
        return ()

    def list_columns(self) -> Mapping[str, Sequence[Any]]:
        """`Column`s of tables that the view draws, by the names of the tables."""
        return {}

    def list_actions(self) -> Mapping[str, Any]:
        """A `ShownAction` for each action of a live view, by its id."""
        return {}

    def list_starters(self, handle: Any) -> Sequence[Any]:
        """A `LiveAction` for each action that a compiled call offers, with the reason if not."""
        return ()

    def read_record(self, path: str) -> Any:
        """The record in a file or folder, for the commands; None for what it does not read.

        Worlds of other packages are asked first.
        """
        return None

    def find_pytest_plugin(self) -> Any:
        """A module or object with hooks and fixtures of pytest; None for none."""
        return None

    def list_magics(self) -> Sequence[Any]:
        """Classes of IPython's `Magics`, which `%load_ext workbench` registers."""
        return ()

    def explain_difference(
        self,
        compiled: Any,
        call: tuple[tuple[Any, ...], Mapping[str, Any]],
        cause: str,
        wrong: set[str],
    ) -> str:
        """The cause of a difference that `verify` found in the leaves `wrong`, in sentences."""
        return cause


@cache
def list_worlds() -> tuple[World, ...]:
    """The worlds of this package by name, then those that other packages add.

    A world of another package that cannot be imported is left out with a warning.
    """
    return (*_list_own(), *_list_foreign())


def _list_own() -> Iterator[World]:
    for entry in sorted(pkgutil.iter_modules(workbench.worlds.__path__), key=lambda it: it.name):
        if entry.ispkg:
            world: World = import_module(f"{workbench.worlds.__name__}.{entry.name}.world").WORLD
            yield world


def _list_foreign() -> Iterator[World]:
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP), key=lambda it: it.name):
        who = "an unknown package" if entry.dist is None else entry.dist.name
        try:
            world = entry.load()
        except Exception as error:  # somebody else's code, which may raise anything
            why = f"{type(error).__name__}: {error}"
        else:
            if isinstance(world, World):
                yield world
                continue
            why = f"{entry.value} is of type {type(world).__name__}, not a World."
        warnings.warn(f"The world {entry.name} of {who} is left out: {why}", stacklevel=2)


def gather(read: Callable[[World], Mapping[str, Part]], own: Mapping[str, Part]) -> dict[str, Part]:
    """What the core and every world add by name.

    A name that is taken is left out with a warning.
    """
    found = dict(own)
    for world in list_worlds():
        for name, part in read(world).items():
            if name in found:
                what = f"The world {world.name} adds {name!r}, which is there already: left out."
                warnings.warn(what, stacklevel=2)
            found.setdefault(name, part)
    return found
