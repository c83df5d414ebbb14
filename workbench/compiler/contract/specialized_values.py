"""Specialized values: constants that were compiled in and whose guard a file cannot hold."""

from __future__ import annotations

import ast
import contextlib
import enum
import importlib
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.contract.paths import Path

_LITERALS = (int, float, str, bytes, complex, tuple, frozenset)
_OBJECTS = (types.FunctionType, types.BuiltinFunctionType, type)
_FAILURES = (KeyError, IndexError, AttributeError, TypeError)


@dataclass(frozen=True)
class SpecializedValue:
    """One value that the compiled code assumes.

    `owner` is the module whose global it is reached through, or None for an argument; `check` is
    "equals", "is" or "length". `known` is False when the value exists only in the process that
    compiled (a lambda, a local class): it is compared there, not after loading.
    """

    path: Path
    value: Any
    check: str
    owner: str | None = None
    known: bool = field(default=True, compare=False)

    @property
    def name(self) -> str:
        """The value's place as people write it."""
        return f"{self.path} (global of {self.owner})" if self.owner else str(self.path)

    def holds(self, value: Any) -> bool:
        """Whether a value found at run time is the one that was compiled in."""
        if self.check == "length":
            return hasattr(value, "__len__") and len(value) == self.value
        if self.check == "is":
            return value is self.value
        return type(value) is type(self.value) and bool(value == self.value)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data for the manifest."""
        return {
            "path": self.path.to_json(),
            "owner": self.owner,
            "check": self.check,
            "value": _encode(self.value),
        }


def specialize(
    path: Path, value: Any, owner: str | None, *, length: bool = False
) -> SpecializedValue | None:
    """The check that replaces a dropped guard, or None when the value is no constant."""
    if length:
        return SpecializedValue(path, len(value), "length", owner)
    if value is None or isinstance(value, bool | enum.Enum):
        return SpecializedValue(path, value, "is", owner, _importable(value))
    if isinstance(value, _LITERALS) and _is_literal(value):
        return SpecializedValue(path, value, "equals", owner)
    if isinstance(value, torch.dtype | torch.device):
        return SpecializedValue(path, value, "equals", owner)
    if owner is None and isinstance(value, _OBJECTS):
        return SpecializedValue(path, value, "is", owner, _importable(value))
    return None


def _is_literal(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(
            v is None or (isinstance(v, (*_LITERALS, bool)) and _is_literal(v)) for v in value
        )
    return type(value) in _LITERALS


def importable_name(value: Any) -> str | None:
    """`module:qualified.name` when importing that gives the object itself, else None."""
    return _object_name(value) if _importable(value) else None


def _object_name(value: Any) -> str | None:
    """`module:qualified.name` under which an object can be imported again, or None."""
    if isinstance(value, enum.Enum):
        owner, name = type(value), f"{type(value).__qualname__}.{value.name}"
    else:
        owner, name = value, getattr(value, "__qualname__", "")
    module = getattr(owner, "__module__", None)
    if isinstance(value, types.BuiltinFunctionType) and module == "torch":
        name = value.__name__  # torch.relu calls itself _VariableFunctionsClass.relu
    if module is None or "<" in name or not name:
        return None
    return f"{module}:{name}"


def resolve(name: str) -> Any:
    """The object at `module` or `module:qualified.name`; raises ImportError or AttributeError."""
    module, _, qualified = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in qualified.split(".") if qualified else ():
        found = getattr(found, part)
    return found


def globals_module(function: types.FunctionType) -> str:
    """The module whose globals a function reads, whatever a decorator gave as its `__module__`."""
    return str(function.__globals__.get("__name__") or function.__module__ or "__main__")


def _importable(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return True
    name = _object_name(value)
    try:
        return name is not None and resolve(name) is value
    except (ImportError, AttributeError):
        return False


def _encode(value: Any) -> dict[str, Any]:
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, enum.Enum | types.FunctionType | types.BuiltinFunctionType | type):
        return {"object": _object_name(value)}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, frozenset):
        return {"frozenset": repr(tuple(value))}
    return {"literal": repr(value)}


def _decode(data: Mapping[str, Any]) -> Any:
    ((kind, text),) = data.items()
    if kind == "dtype":
        return getattr(torch, text)
    if kind == "device":
        return torch.device(text)
    if kind == "object":
        return resolve(text)
    if kind == "float":
        return float.fromhex(text)
    value = ast.literal_eval(text)
    return frozenset(value) if kind == "frozenset" else value


def from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[SpecializedValue, ...]:
    """Read the values in a manifest, those that can be compared in this process."""
    found = []
    for row in rows:
        path = Path.from_json(row["path"])
        with contextlib.suppress(ImportError, AttributeError):
            value = _decode(row["value"])
            found.append(SpecializedValue(path, value, row["check"], row["owner"]))
    return tuple(found)


@dataclass(frozen=True)
class SpecializedValues:
    """Specialized values bound to the live scopes in which they are compared."""

    values: tuple[SpecializedValue, ...] = ()
    scopes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def in_scopes(
        cls,
        values: tuple[SpecializedValue, ...],
        function_module: str,
        function_globals: Mapping[str, Any],
    ) -> SpecializedValues:
        """The values with the live globals of the modules they belong to, where these are found."""
        found: dict[str, Mapping[str, Any]] = {function_module: function_globals}
        for owner in {b.owner for b in values if b.owner and b.owner != function_module}:
            with contextlib.suppress(ImportError):
                found[owner] = vars(sys.modules.get(owner) or importlib.import_module(owner))
        return cls(values, found)

    @property
    def reachable(self) -> tuple[SpecializedValue, ...]:
        """The values that can be compared: arguments, and globals that exist in this process."""
        return tuple(
            b for b in self.values if b.owner is None or b.path.root in self.scopes.get(b.owner, {})
        )

    def mismatches(self, bound: Mapping[str, Any], *, arguments: bool = True) -> list[str]:
        """A sentence for each value that is not the one that was compiled in.

        With `arguments=False` only globals are compared.
        """
        problems = []
        for one in self.reachable:
            if one.owner is None and not arguments:
                continue
            scope = bound if one.owner is None else self.scopes[one.owner]
            try:
                value = one.path.get(scope)
            except _FAILURES:
                problems.append(f"{one.name}: compiled with {one.value!r}, it is gone")
                continue
            if not one.holds(value):
                found = len(value) if one.check == "length" else value
                what = "length " if one.check == "length" else ""
                problems.append(
                    f"{one.name}: compiled with {what}{_shown(one.value)}, now {_shown(found)}"
                )
        return problems

    def checker(self) -> Callable[[Mapping[str, Any]], bool] | None:
        """One fast function that compares every reachable value, or None when there is none."""
        reachable = self.reachable
        if not reachable:
            return None
        scope: dict[str, Any] = {"failures": _FAILURES}
        tests = []
        for i, one in enumerate(reachable):
            scope[f"c{i}"], scope[f"t{i}"] = one.value, type(one.value)
            source = "L" if one.owner is None else f"G{i}"
            if one.owner is not None:
                scope[source] = self.scopes[one.owner]
            place = f"{source}[{one.path.root!r}]{one.path.tail}"
            if one.check == "length":
                tests.append(f"len({place}) == c{i}")
            elif one.check == "is":
                tests.append(f"{place} is c{i}")
            else:
                tests.append(f"(v := {place}) == c{i} and type(v) is t{i}")
        lines = ["def check(L):", "    try:", f"        return {' and '.join(tests)}"]
        exec("\n".join([*lines, "    except failures:", "        return False"]), scope)
        check: Callable[[Mapping[str, Any]], bool] = scope["check"]
        return check


def _shown(value: Any) -> str:
    return _object_name(value) or repr(value) if isinstance(value, _OBJECTS) else repr(value)
