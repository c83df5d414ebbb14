"""The containers in which a program keeps values: their entries read, and replaced by others.

What Python itself does for a container is done, past what a class of the user's adds to it.
"""

from __future__ import annotations

import contextlib
import types
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MODULE_TABLES = ("_parameters", "_buffers", "_modules")
_HOOKS = "_hooks"


def is_of(value: Any, kinds: Any) -> bool:
    """As isinstance; `__class__`, which an object may compute, is not asked."""
    return issubclass(type(value), kinds)


class Entries:
    """The entries of a container by key, number or name."""

    def read(self) -> dict[Any, Any]:
        """The entries now."""
        return self._read()

    def write(self, entries: Mapping[Any, Any]) -> None:
        """Give it these entries, and no others."""
        self._write(entries)

    def _read(self) -> dict[Any, Any]:
        raise NotImplementedError

    def _write(self, entries: Mapping[Any, Any]) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Table(Entries):
    """The entries of a dictionary, by what dict itself does: a class of its own may do more."""

    entries: dict[Any, Any]

    def _read(self) -> dict[Any, Any]:
        return dict(dict.items(self.entries))

    def _write(self, entries: Mapping[Any, Any]) -> None:
        kind: Any = OrderedDict if is_of(self.entries, OrderedDict) else dict
        kind.clear(self.entries)
        for key, value in entries.items():
            kind.__setitem__(self.entries, key, value)


@dataclass(frozen=True)
class Numbered(Entries):
    """The entries of a list by their number."""

    values: Any

    @property
    def _kind(self) -> Any:
        return list if is_of(self.values, list) else deque

    def _read(self) -> dict[Any, Any]:
        return dict(enumerate(self._kind.__iter__(self.values)))

    def _write(self, entries: Mapping[Any, Any]) -> None:
        self._kind.clear(self.values)
        self._kind.extend(self.values, [entries[number] for number in sorted(entries)])


@dataclass(frozen=True)
class Members(Entries):
    """The members of a set."""

    values: set[Any]

    def _read(self) -> dict[Any, Any]:
        return dict.fromkeys(set.__iter__(self.values), True)

    def _write(self, entries: Mapping[Any, Any]) -> None:
        set.clear(self.values)
        set.update(self.values, entries)


@dataclass(frozen=True)
class Cells(Entries):
    """The variables of a closure that have a value."""

    cells: Mapping[str, Any]

    def _read(self) -> dict[Any, Any]:
        full = {name: cell for name, cell in self.cells.items() if cell != types.CellType()}
        return {name: cell.cell_contents for name, cell in full.items()}

    def _write(self, entries: Mapping[Any, Any]) -> None:
        for name, cell in self.cells.items():
            if name in entries:
                cell.cell_contents = entries[name]
            else:
                del cell.cell_contents


@dataclass(frozen=True)
class Some(Entries):
    """Some names of a namespace, which has others."""

    space: dict[str, Any]
    names: frozenset[str]

    def _read(self) -> dict[Any, Any]:
        return {name: self.space[name] for name in sorted(self.names) if name in self.space}

    def _write(self, entries: Mapping[Any, Any]) -> None:
        for name in self.names:
            if name in entries:
                self.space[name] = entries[name]
            else:
                self.space.pop(name, None)


@dataclass(frozen=True)
class OwnAttributes(Entries):
    """What a module has in its own dictionary, but its tables and hooks."""

    space: dict[str, Any]

    def _read(self) -> dict[Any, Any]:
        return {
            name: value
            for name, value in self.space.items()
            if name not in _MODULE_TABLES and not name.endswith(_HOOKS)
        }

    def _write(self, entries: Mapping[Any, Any]) -> None:
        for name in self.read().keys() - entries.keys():
            del self.space[name]
        self.space.update(entries)


@dataclass(frozen=True)
class Slots(Entries):
    """The slots of an object that hold a value, read past what its class computes."""

    value: Any
    slots: Mapping[str, Any]

    def _read(self) -> dict[Any, Any]:
        contents = {}
        for name, slot in self.slots.items():
            with contextlib.suppress(AttributeError):  # it is empty
                contents[name] = slot.__get__(self.value)
        return contents

    def _write(self, entries: Mapping[Any, Any]) -> None:
        for name in self.read().keys() - entries.keys():
            self.slots[name].__delete__(self.value)
        for name, value in entries.items():
            self.slots[name].__set__(self.value, value)


@dataclass(frozen=True)
class ClassAttributes(Entries):
    """The data of a class; what it computes, and what Python puts there, is none."""

    kind: type

    def _read(self) -> dict[Any, Any]:
        return {
            name: value
            for name, value in vars(self.kind).items()
            if not name.startswith("__") and not hasattr(type(value), "__get__")
        }

    def _write(self, entries: Mapping[Any, Any]) -> None:
        now = self.read()
        for name in now.keys() - entries.keys():
            delattr(self.kind, name)
        for name, value in entries.items():
            if name not in now or now[name] is not value:
                setattr(self.kind, name, value)


def read_dictionary(value: Any) -> dict[str, Any] | None:
    """The own dictionary of an object; None where it has none."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return own if isinstance(own, dict) else None


def list_slots(kind: type) -> dict[str, Any]:
    """The slots of the classes that an object is of, by name."""
    return {
        name: slot
        for base in reversed(kind.__mro__)
        if "__slots__" in vars(base)
        for name, slot in vars(base).items()
        if isinstance(slot, types.MemberDescriptorType)
    }
