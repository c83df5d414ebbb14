"""Children, parameters and buffers, which compiled code reads past Python's attribute lookup."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import torch

_REGISTERED = {"_modules": "child", "_parameters": "parameter", "_buffers": "buffer"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.Tensor)
_NOT_FOLLOWED = (*_PLAIN, type, types.ModuleType, types.FunctionType)
_LOOKUPS = ("__getattr__", "__getattribute__")
_HIDDEN = "{} hides the {} that the compiled code reads"


@dataclass(frozen=True)
class InstanceNames:
    """Registered names of one module that its `__dict__` may not have.

    Dynamo 2.13 reads `module._parameters["w"]` and guards no `__dict__` for it, though an entry
    there comes first: `object.__setattr__(module, "w", …)` would go unnoticed.
    """

    name: str
    module: torch.nn.Module
    kinds: Mapping[str, str]

    def tests(self, scope: dict[str, Any]) -> Iterator[str]:
        """Expressions that hold while nothing is hidden; what they name goes into `scope`."""
        own = _put(scope, vars(self.module))  # to ask for it in each call takes three times as long
        yield from (f"{name!r} not in {own}" for name in self.kinds)

    def changed(self) -> Iterator[tuple[str, str]]:
        """Each hidden name, and what hides it."""
        for name in self.kinds.keys() & vars(self.module).keys():
            yield (
                f"{self.name}.{name}",
                _HIDDEN.format("an attribute of the object", self.kinds[name]),
            )


@dataclass(frozen=True)
class ClassNames:
    """Registered names that no class of a module may have, and how the class looks names up."""

    owner: type
    bases: tuple[type, ...]
    kinds: Mapping[str, str]
    lookups: Mapping[str, Any]

    def tests(self, scope: dict[str, Any]) -> Iterator[str]:
        """Expressions that hold while nothing is hidden; what they name goes into `scope`."""
        owner = _put(scope, self.owner)
        yield f"{owner}.__mro__ is {_put(scope, self.bases)}"
        for name, expected in self.lookups.items():
            yield f"{owner}.{name} is {_put(scope, expected)}"
        for base in self.bases:
            members = _put(scope, vars(base))
            yield from (f"{name!r} not in {members}" for name in self.kinds if base is not object)

    def changed(self) -> Iterator[tuple[str, str]]:
        """Each hidden name, and what hides it."""
        shown = self.owner.__qualname__
        for name, expected in self.lookups.items():
            if getattr(self.owner, name, None) is not expected:
                yield (
                    f"{shown}.{name}",
                    "the class was given one of its own, and the compiled code calls none",
                )
        if self.owner.__mro__ != self.bases:
            yield shown, "its bases were compiled in and are others now"
        for name, kind in self.kinds.items():
            for base in self.owner.__mro__:
                if name in vars(base):
                    by = f"an attribute of the class {base.__qualname__}"
                    yield f"{shown}.{name}", _HIDDEN.format(by, kind)


Registered = InstanceNames | ClassNames


def find_modules(values: Mapping[str, Any], named: Set[str]) -> dict[str, torch.nn.Module]:
    """The modules among the values and, by attributes and keys that are `named`, in them.

    One that is registered in another is found there. Lists are followed, and objects of any class.
    """
    found: dict[str, torch.nn.Module] = {}
    seen: set[int] = set()
    queue = deque(values.items())
    while queue:
        place, value = queue.popleft()
        is_module = isinstance(value, torch.nn.Module)
        if is_module and (place in values or id(value) not in seen):
            found[place] = value
        if id(value) in seen:
            continue
        seen.add(id(value))
        for path, part in value.named_modules() if is_module else ():
            seen.add(id(part))
            queue.extend(_held(_join(place, path), part, named))
        queue.extend(() if is_module else _held(place, value, named))
    return found


def _held(place: str, value: Any, named: Set[str]) -> Iterator[tuple[str, Any]]:
    """What a value holds besides what is registered in it, by its place."""
    if isinstance(value, list | tuple):
        parts = enumerate(value)
        yield from ((f"{place}[{i}]", one) for i, one in parts if not isinstance(one, _PLAIN))
    elif isinstance(value, dict):
        for key, one in value.items():
            if not isinstance(key, str) or key in named:
                yield f"{place}[{key!r}]", one
    elif isinstance(value, types.MethodType):
        yield f"{place}.__self__", value.__self__
    elif not isinstance(value, _NOT_FOLLOWED):
        own: Any = getattr(value, "__dict__", None)
        names = sorted(named & own.keys()) if type(own) is dict else ()
        yield from ((_join(place, name), own[name]) for name in names if name not in _REGISTERED)


def hidden(modules: Mapping[str, torch.nn.Module]) -> Iterator[str]:
    """The places at which a capture of these modules does not read what is registered."""
    for place, _, module in _parts(modules):
        kinds = _registered(module)
        for name in kinds:
            if name in vars(module) or any(name in vars(base) for base in type(module).__mro__):
                yield _join(place, name)
        for name in _LOOKUPS:
            if getattr(type(module), name) is not getattr(torch.nn.Module, name):
                yield _join(place, name)


def read_as_registered(
    modules: Mapping[str, torch.nn.Module], hidden_before: Collection[str]
) -> tuple[Registered, ...]:
    """What has to stay visible for code that was compiled where only `hidden_before` was hidden."""
    found: dict[int, Registered] = {}
    classes: dict[type, dict[str, str]] = {}
    lookups: dict[type, dict[str, Any]] = {}
    for place, shown, module in _parts(modules):
        owner, kinds = type(module), _registered(module)
        kinds = {n: kind for n, kind in kinds.items() if _join(place, n) not in hidden_before}
        if kinds:
            found[id(module)] = InstanceNames(shown, module, kinds)
            classes.setdefault(owner, {}).update(kinds)
            lookups.setdefault(owner, {}).update(
                (name, getattr(torch.nn.Module, name))
                for name in _LOOKUPS
                if _join(place, name) not in hidden_before
            )
    for owner, kinds in classes.items():
        found[id(owner)] = ClassNames(owner, owner.__mro__, kinds, lookups[owner])
    return tuple(found.values())


def _parts(
    modules: Mapping[str, torch.nn.Module],
) -> Iterator[tuple[str, str, torch.nn.Module]]:
    """Each module: its place, which is the same in every process, and the name it is shown with."""
    for root, module in modules.items():
        for path, part in module.named_modules():
            yield _join(root, path), _join(type(module).__name__, path), part


def _registered(module: torch.nn.Module) -> dict[str, str]:
    """The kind of each name that Python would look up as an attribute, and not by `"0"`."""
    return {
        name: kind
        for table, kind in _REGISTERED.items()
        for name in vars(module).get(table, ())
        if name.isidentifier()
    }


def _join(*parts: str) -> str:
    return ".".join(filter(None, parts))


def _put(scope: dict[str, Any], value: Any) -> str:
    """The name under which a test finds this value."""
    name = f"_wb_v{len(scope)}"
    scope[name] = value
    return name
