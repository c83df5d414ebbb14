"""Dicts in which libraries note things down, guarded by what is read of them alone.

Torch guards a plain dict by the keys that are read. Of a dict of another class it guards how many
keys there are, and their order, and finds values by their place. A library that notes down every
class that was made, as transformers does, then fits no process that has made others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from workbench.compiler.captured_code.specialized_values import is_library_file
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches

Row = Mapping[str, Any]
Entries = tuple[str, str, Mapping[Any, Any]]
_ALL_KEYS = "DICT_KEYS_MATCH"
"""Torch's guard where code asks for all keys: a loop, a length, a copy, a comparison."""
WHY = (
    "it depends on the number or order of entries in a dict of {module}, which grows at run "
    "time; the entries that the code reads are compared"
)


def is_registry(value: Any) -> bool:
    """Whether it is a global of an installed module, of a class of dicts that it defines."""
    kind = type(value)
    if not isinstance(value, dict) or kind is dict:
        return False
    module = sys.modules.get(kind.__module__)
    return (
        module is not None
        and is_library_file(getattr(module, "__file__", None) or "")
        and _name_in(module, value) is not None
        and all(type(key) in (str, int) for key in dict.keys(value))
    )


def _name_in(module: ModuleType, value: object) -> str | None:
    return next((name for name, member in vars(module).items() if member is value), None)


def read_entries(rows: Sequence[Row]) -> tuple[Entries, ...]:
    """What this process has of the entries that `Registries.rows` names, by module and name."""
    return tuple(
        (row["module"], row["name"], {key: registry[key] for key in row["keys"] if key in registry})
        for row in rows
        for registry in (_registry(row),)
    )


def list_missing_entries(rows: Sequence[Row]) -> list[str]:
    """Those that this process does not have, in words."""
    return [
        f"{key!r} of {row['module']}.{row['name']}"
        for row in rows
        for key in row["keys"]
        if key not in _registry(row)
    ]


def _registry(row: Row) -> Mapping[Any, Any]:
    registry = getattr(sys.modules.get(row["module"]), row["name"], None)
    return registry if isinstance(registry, dict) else {}


class Registries:
    """Has torch read registries by their keys, and tells which guards are not needed then."""

    def __init__(self) -> None:
        self._met: list[dict[Any, Any] | None] = []
        self._read: dict[tuple[str, str], set[str | int]] = {}
        self._unordered = frozenset[str]()

    @contextmanager
    def read_by_key(self) -> Iterator[None]:
        """Hold for what this thread compiles."""
        with Patches() as patches:
            patches.wrap(tp.WRAP_VALUE, self._noted)
            patches.wrap(tp.DICT_ENTRY, self._by_key)
            patches.wrap(tp.SERIALIZE_GUARDS, self._without_order)
            yield

    def needless(self, guards: Sequence[Any]) -> dict[int, str]:
        """The places of the guards of one frame that compare length and order, with the reason.

        None of a registry of which the code asks for all keys.
        """
        by_name = {
            guard.name: guard.value
            for guard in guards
            if guard.has_value and guard.is_global and is_registry(guard.value)
        }
        ordered = {guard.name for guard in guards if _ALL_KEYS in _kinds(guard)}
        self._unordered = frozenset(by_name) - ordered
        for name in self._unordered:
            self._note(name, by_name[name], guards)
        why = {name: WHY.format(module=type(by_name[name]).__module__) for name in self._unordered}
        return {
            at: why[name]
            for at, guard in enumerate(guards)
            for name in self._unordered
            if (guard.name == name and "SEQUENCE_LENGTH" in _kinds(guard))
            or guard.name.startswith(f"list(dict.keys({name}))[")
        }

    def rows(self) -> tuple[Row, ...]:
        """The entries that were read: module and name of the dict, their keys."""
        return tuple(
            {"module": module, "name": name, "keys": sorted(keys, key=str)}
            for (module, name), keys in self._read.items()
        )

    def _note(self, name: str, registry: dict[Any, Any], guards: Sequence[Any]) -> None:
        module = type(registry).__module__
        own = self._read.setdefault((module, str(_name_in(sys.modules[module], registry))), set())
        own.update(
            key
            for key in dict.keys(registry)
            if any(guard.name.startswith(f"{name}[{key!r}]") for guard in guards)
        )

    def _noted(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(builder: Any, value: Any) -> Any:
            self._met.append(value if is_registry(value) else None)
            try:
                return inner(builder, value)
            finally:
                self._met.pop()

        return wrapped

    def _by_key(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def entry(base: Any, index: Any) -> Any:
            registry = self._met[-1] if self._met else None
            if registry is not None:
                index = list(dict.keys(registry))[index.index]
            return inner(base, index)

        return entry

    def _without_order(self, inner: Callable[..., bytes]) -> Callable[..., bytes]:
        def serialize(manager: Any, builder: Any, guards: list[Any], graph: Any) -> bytes:
            before = graph.guard_on_key_order
            graph.guard_on_key_order = {
                source for source in before if _name(source) not in self._unordered
            }
            try:
                return inner(manager, builder, guards, graph)
            finally:
                graph.guard_on_key_order = before

        return serialize


def _kinds(guard: Any) -> tuple[str, ...]:
    return (guard.guard_type, *guard.derived_guard_types)


def _name(source: Any) -> str:
    return str(source.name() if callable(source.name) else source.name)
