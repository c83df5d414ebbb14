"""What a world may add to the workbench, and the worlds that are installed.

A world is a folder of `workbench/worlds` with a module `world.py`, or an object that a package
names under the entry point `aot_workbench.worlds`. The rest of the workbench asks `list_worlds()`
and names none.
"""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import workbench.worlds

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

GROUP = "aot_workbench.worlds"
"""The entry point under which a package names its `World`."""
Part = TypeVar("Part")


@dataclass(frozen=True)
class Frame:
    """A table of a record for the reference: the call that gives it, and its rows.

    `columns` are those of its columns that are told of, in order; every field where it is empty.
    """

    call: str
    about: str
    row: type
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """A command of `workbench` that shows a record: its name, what `--help` says of it.

    `add_words` gives a parser of argparse its arguments, `read` makes the record of what they are;
    `--json` and `--html` are every command's.
    """

    name: str
    about: str
    add_words: Callable[[ArgumentParser], None]
    read: Callable[[Namespace], Any]


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
    shareable: Sequence[str] = ()
    """Tables without text of sources: they stay in a record when its sources are dropped."""

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
        """The file that says what the words of its tables mean; it need not exist.

        It is `terms.json` of the world's folder, `MODULE.terms.json` beside a module that is alone.
        """
        module = type(self).__module__
        is_alone = "." not in module and not hasattr(import_module(module), "__path__")
        return self.folder / (f"{module}.terms.json" if is_alone else "terms.json")

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

    def list_cards(self) -> Mapping[str, Sequence[Any]]:
        """`Card`s of rows that the view shows, by the kinds of their ids."""
        return {}

    def list_actions(self) -> Mapping[str, Any]:
        """A `ShownAction` for each action of a live view, by its id."""
        return {}

    def list_starters(self, handle: Any) -> Sequence[Any]:
        """A `LiveAction` for each action that a compiled call offers, with the reason if not."""
        return ()

    def find_program_records(self) -> Any:
        """A `ProgramRecords`, which records programs while they run; None for none."""
        return None

    def take_kernel(self, report: Any, name: str, gpu: Any) -> Any:
        """One kernel of a report for a GPU as a call by itself; None where it takes none."""
        return None

    def read_hooks(self, request: Any) -> Any:
        """What hooks around the module of a `CompileRequest` send, as `ModuleHooks`; None for none.

        Asked beside a process group alone.
        """
        return None

    def verify_ranks(
        self, compiled: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], **wanted: Any
    ) -> Any:
        """A `Verification` of a compiled call on every rank; None where it runs no ranks.

        `wanted` are the arguments of `wb.verify` that are about ranks.
        """
        return None

    def read_record(self, path: str) -> Any:
        """The record in a file or folder, for the commands; None for what it does not read.

        Worlds of other packages are asked first.
        """
        return None

    def list_commands(self) -> Sequence[Command]:
        """Commands of `workbench`, each of which shows a record."""
        return ()

    def list_frames(self) -> Sequence[Frame]:
        """Tables of its own records, for the reference of this package."""
        return ()

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

    What another package names is left out with a warning where it cannot be imported, is no world,
    has no name or one that is taken.
    """
    found = {world.name: world for world in _list_own()}
    for who, world in _list_foreign():
        name = getattr(world, "name", None)
        if not isinstance(name, str) or not name.isidentifier():
            _leave_out(f"a world of {who}", f"its name {name!r} is not an identifier.")
        elif name in found:
            _leave_out(f"the world {name} of {who}", "its name is taken.")
        else:
            found[name] = world
    return tuple(found.values())


def _list_own() -> Iterator[World]:
    for entry in sorted(pkgutil.iter_modules(workbench.worlds.__path__), key=lambda it: it.name):
        if entry.ispkg:
            world: World = import_module(f"{workbench.worlds.__name__}.{entry.name}.world").WORLD
            yield world


def _list_foreign() -> Iterator[tuple[str, World]]:
    """The worlds of other packages, each with its package."""
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP), key=lambda it: it.name):
        who = "an unknown package" if entry.dist is None else entry.dist.name
        try:
            world = entry.load()
        except (Exception, SystemExit) as error:  # somebody else's code, which may raise anything
            _leave_out(f"the world {entry.name} of {who}", f"{type(error).__name__}: {error}")
            continue
        if isinstance(world, World):
            yield who, world
        else:
            why = f"{entry.value} is a {type(world).__name__}, not a World."
            _leave_out(f"the world {entry.name} of {who}", why)


def _leave_out(what: str, why: str) -> None:
    warnings.warn(f"{what[:1].upper()}{what[1:]} is left out: {why}", stacklevel=3)


def ask(world: World, call: Callable[[World], Part], otherwise: Part, what: str) -> Part:
    """What a world answers; where one of another package raises, `otherwise`, with a warning.

    `what` says what is left out.
    """
    if world.is_own:
        return call(world)
    try:
        return call(world)
    except Exception as error:  # somebody else's code, which may raise anything
        _leave_out(f"{what} of the world {world.name}", f"{type(error).__name__}: {error}")
        return otherwise


def collect(
    read: Callable[[World], Iterable[Part]],
    kind: type[Part],
    what: str,
    taken: Iterable[str] = (),
    name: Callable[[Part], str] = str,
) -> list[Part]:
    """What every world lists, each of a `kind` and of a `name` that is not `taken`.

    Anything else is left out with a warning; `what` says what each is.
    """
    found, names = list[Part](), {*taken}
    nothing: tuple[Part, ...] = ()
    for world in list_worlds():
        for part in ask(world, lambda each: tuple(read(each)), nothing, f"each {what}"):
            if not isinstance(part, kind):
                _leave_out(f"a {what} of the world {world.name}", f"{part!r:.80} is not one.")
            elif name(part) in names:
                why = "its name is taken."
                _leave_out(f"the {what} {name(part)!r} of the world {world.name}", why)
            else:
                names.add(name(part))
                found.append(part)
    return found


def gather(
    read: Callable[[World], Mapping[str, Part]], own: Mapping[str, Part], what: str
) -> dict[str, Part]:
    """What the core and every world add by name.

    A name that is taken is left out with a warning; `what` says what has the name.
    """
    found, nothing = dict(own), dict[str, Part]()
    for world in list_worlds():
        added = ask(world, lambda each: dict(read(each)), nothing, f"each {what}")
        for name, part in added.items():
            if name in found:
                why = "its name is taken."
                _leave_out(f"the {what} {name!r} of the world {world.name}", why)
            found.setdefault(name, part)
    return found


def list_commands(taken: Iterable[str]) -> list[Command]:
    """The commands that worlds add, of names that are not `taken`."""
    return collect(_read_commands, Command, "command", taken, lambda command: command.name)


def _read_commands(world: World) -> Sequence[Command]:
    """The commands of a world; raises what one of them raises that cannot be given its words."""
    from argparse import ArgumentParser

    commands = world.list_commands()
    for command in commands:
        if isinstance(command, Command):
            command.add_words(ArgumentParser())
    return commands
