"""Specialized values: constants that were compiled in and whose guard a file cannot hold."""

from __future__ import annotations

import ast
import builtins
import contextlib
import enum
import importlib
import os
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from workbench.compiler.calls.paths import Path
from workbench.compiler.captured_code.code_digest import HIDDEN, CodeOf, Hidden, digest
from workbench.compiler.internals.tensor_like import TensorCheck
from workbench.live_only import LivePart

_LITERALS = (int, float, str, bytes, complex, tuple, frozenset)
_OBJECTS = (types.FunctionType, types.BuiltinFunctionType, type)
_FAILURES = (KeyError, IndexError, AttributeError, TypeError, ValueError)  # of an empty cell
_INSTALLED = tuple({*sysconfig.get_paths().values()} - {sysconfig.get_path("data")})
_PACKAGES = frozenset({"site-packages", "dist-packages"})

SAME = "same"  # the object at another place of the same module
_CHECKS = {
    "equals": "(w := {at}) == {c} and type(w) is {t}",
    "nan": "(w := {at}) != w and type(w) is {t}",  # it is not equal to itself
    "based": "{t}({at}) == {c}",  # of a class that is made from a constant's
    "is": "{at} is {c}",
    "length": "len({at}) == {c}",
    "class": "type({at}) is {c}",
    "attribute": "hasattr({at}, {c})",
    "no attribute": "not hasattr({at}, {c})",
    "no own": "{c} not in vars({at})",
    "none of its class": "not hasattr(type({at}), {c})",
    "key": "{c} in {at}",
    "no key": "{c} not in {at}",
    "keys": "tuple({at}) == {c}",
    "members": "{at} == {c}",
    "alive": "{at} is not None",
    "code": "{c}.is_of({at}.__code__)",
    "hidden": "{c}.is_of({at})",
    "tensor": "{c}.is_of({at})",
}
"""What is asked of a place, as Python source."""
_SAID = {
    "class": "compiled in as an object of {}, now of a different class",
    "attribute": "compiled with an attribute {}, now it is gone",
    "no attribute": "compiled without an attribute {}, now it has one",
    "no own": "compiled without an attribute {} of its own, now it has one",
    "none of its class": "compiled without an attribute {} of its class, now it has one",
    "key": "compiled with {} in it, now it is gone",
    "no key": "compiled without {}, which it has now",
    "members": "compiled with {}, now it has different members",
    "keys": "compiled with the keys {}, now it has different ones",
    "alive": "compiled with an object that is gone",
    "code": "its code has changed since compilation",
    "hidden": "compiled with a different value of an environment variable (not shown)",
}


@dataclass(frozen=True)
class SpecializedValue:
    """One value that the compiled code assumes.

    `owner` is the module whose global it is reached through, or None for an argument; `check` is
    one of `_CHECKS`. `known` is False when the value exists only in the process that
    compiled (a lambda, a local class): it is compared there, not after loading. `asked` is the
    place of the code that sets it when it is first asked, in a file: there it may be missing.
    `guarded` says that a guard of torch in the file compares it: it is here to be named;
    `unguarded` that no guard of torch does: it is compared where it was compiled, too.
    """

    path: Path
    value: Any
    check: str
    owner: str | None = None
    known: bool = field(default=True, compare=False)
    asked: str | None = field(default=None, compare=False)
    guarded: bool = field(default=False, compare=False)
    unguarded: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """The value's place as people write it."""
        return f"{self.path} (global of {self.owner})" if self.owner else str(self.path)

    def holds(self, value: Any) -> bool:
        """Whether a value found at run time is the one that was compiled in."""
        if self.check == "length":
            return hasattr(value, "__len__") and len(value) == self.value
        try:
            scope = {"v": value, "c": self.value, "t": type(self.value)}
            return bool(eval(_CHECKS[self.check].format(at="v", c="c", t="t"), scope))
        except _FAILURES:
            return False

    def said(self, value: Any) -> str:
        """What was compiled in and what there is now."""
        if self.check == "length":
            return f"compiled with length {self.value!r}, now {len(value)}"
        if self.check == "tensor":
            like = TensorCheck.of(value) if isinstance(value, torch.Tensor) else None
            return f"compiled with {self.value}, now {like or f'a {type(value).__name__}'}"
        if self.check in _SAID:
            return _SAID[self.check].format(_shown(self.value))
        return f"compiled with {_shown(self.value)}, now {_shown(value)}"

    def was(self) -> str:
        """What was compiled in, as the end of a sentence; nothing where that is no value."""
        is_value = self.check in ("equals", "nan", "based", "is", "members", "keys")
        return f": compiled with {_shown(self.value)}" if is_value else ""

    def is_there(self, scope: Mapping[str, Any]) -> bool:
        """Whether the program has set it: it is found, and is more than None in place of it."""
        try:
            value = self.path.get(scope)
            if self.check in ("attribute", "key"):
                return self.holds(value)
            return value is not None or self.value is None
        except _FAILURES:
            return False

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data for the manifest."""
        return {
            "path": self.path.to_json(),
            "owner": self.owner,
            "check": self.check,
            "value": _encode(self.value),
            **({"asked": self.asked} if self.asked else {}),
            **({"guarded": True} if self.guarded else {}),
        }


def specialize(
    path: Path, value: Any, owner: str | None, *, length: bool = False, hide: bool = False
) -> SpecializedValue | None:
    """The check that replaces a dropped guard, or None when the value is no constant.

    With `hide` only a hash of what the value is comes into a file.
    """
    if length:
        return SpecializedValue(path, len(value), "length", owner)
    if hide and isinstance(value, HIDDEN):
        return SpecializedValue(path, Hidden.of(value), "hidden", owner)
    if value is None or value is ... or isinstance(value, bool | enum.Enum):
        return SpecializedValue(path, value, "is", owner, _importable(value))
    if isinstance(value, float | complex) and value != value:
        return SpecializedValue(path, value, "nan", owner)
    is_constant = isinstance(value, _LITERALS) and _is_literal(value)
    if is_constant or isinstance(value, torch.dtype | torch.device):
        return SpecializedValue(path, value, "equals", owner)
    if type(value) is set and _is_literal(frozenset(value)):
        return SpecializedValue(path, frozenset(value), "members", owner)
    return _specialize_object(path, value, owner)


def _specialize_object(path: Path, value: Any, owner: str | None) -> SpecializedValue | None:
    is_own = owner is not None and not path.root.startswith("__")  # torch's names for what it reads
    if isinstance(value, types.ModuleType) and is_own:
        is_importable = sys.modules.get(value.__name__) is value
        return SpecializedValue(path, value, "is", owner, is_importable)
    is_class = isinstance(value, type | types.BuiltinFunctionType)  # code is compared by itself
    if isinstance(value, _OBJECTS) and (owner is None or (is_class and _importable(value))):
        return SpecializedValue(path, value, "is", owner, _importable(value))
    if isinstance(value, types.FunctionType) and not _is_plain(path):
        return _function(path, value, owner)
    return None


def _function(path: Path, value: types.FunctionType, owner: str | None) -> SpecializedValue | None:
    """The check of a function without a dotted name: in a container, in a cell, behind a class.

    The user's is known by its code, so that it may be defined again; a library's by its name, or
    else by its code. What a class of Python has is none of a file's business.
    """
    file, name = value.__code__.co_filename, find_importable_name(value)
    if is_library_file(file) and name is not None:
        return SpecializedValue(path, value, "is", owner)
    if value.__module__ in sys.stdlib_module_names:  # another Python has others, and tells which
        return None
    return SpecializedValue(path, CodeOf(digest(value.__code__)), "code", owner)


def is_library_file(file: str) -> bool:
    """Whether a source file belongs to Python or to what is installed."""
    # of packages that a venv has from another environment (--system-site-packages, a .pth file)
    # sysconfig names no folder
    return file.startswith(_INSTALLED) or not _PACKAGES.isdisjoint(file.split(os.sep))


def is_users(owner: str) -> bool:
    """Whether a module is the user's own: those of libraries note things down as they run."""
    if is_python(owner):  # some of its modules have no file
        return False
    file = getattr(sys.modules.get(owner), "__file__", None)
    return file is None or not is_library_file(file)


def is_python(owner: str) -> bool:
    """Whether a module is Python's own."""
    return owner.partition(".")[0] in sys.stdlib_module_names


def _is_plain(path: Path) -> bool:
    """Whether it is a dotted name: of what has one the code is compared where it is defined."""
    return all(kind == "attr" and "__" not in str(name) for kind, name in path.steps)


def observe(
    path: Path, value: Any, owner: str | None, kind: str, asked: Any
) -> SpecializedValue | None:
    """The check that replaces a dropped guard on what a value has; `asked` is the name or key.

    None for a kind of guard that says something else, or a key that no file can hold.
    """
    if kind == "TYPE_MATCH":
        return SpecializedValue(path, type(value), "class", owner, _importable(type(value)))
    if kind == "TENSOR_MATCH":
        like = TensorCheck.of(value)
        return None if like is None else SpecializedValue(path, like, "tensor", owner)
    if kind == "CONSTANT_SUBCLASS_MATCH":
        base = next((b for b in (int, float, str, bytes) if isinstance(value, b)), None)
        return None if base is None else SpecializedValue(path, base(value), "based", owner)
    if kind == "WEAKREF_ALIVE":
        return SpecializedValue(path, None, "alive", owner)
    if kind in ("DICT_KEYS_MATCH", "MAPPING_KEYS_CHECK"):
        keys = tuple(value)
        return SpecializedValue(path, keys, "keys", owner) if _is_literal(keys) else None
    if asked is None or not (isinstance(asked, bool) or _is_literal(asked)):
        return None
    if kind == "HASATTR":
        has = hasattr(value, asked)
        return SpecializedValue(path, asked, "attribute" if has else "no attribute", owner)
    check = _OBSERVED.get(kind)
    return None if check is None else SpecializedValue(path, asked, check, owner)


_OBSERVED = {
    "NOT_PRESENT_IN_GENERIC_DICT": "no own",
    "DICT_CONTAINS": "key",
    "DICT_NOT_CONTAINS": "no key",
    "SET_CONTAINS": "key",
    "SET_NOT_CONTAINS": "no key",
}


def _is_literal(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(
            v is None or (isinstance(v, (*_LITERALS, bool)) and _is_literal(v)) for v in value
        )
    return type(value) in _LITERALS


def is_found_again(value: Any) -> bool:
    """Whether reading a file gives the very object that was written."""
    return value is None or isinstance(value, bool) or find_importable_name(value) is not None


_DISPATCHED = "boolean_dispatch.<locals>.fn"


def find_importable_name(value: Any) -> str | None:
    """`module:qualified.name` when importing that gives the object itself, else None."""
    return _object_name(value) if _importable(value) else None


def _object_name(value: Any) -> str | None:
    """`module:qualified.name` under which an object can be imported again, or None."""
    if isinstance(value, enum.Enum):
        owner, name = type(value), f"{type(value).__qualname__}.{value.name}"
    else:
        owner, name = value, getattr(value, "__qualname__", "")
    module = getattr(owner, "__module__", None)
    if isinstance(value, type) and module == "builtins" and name not in vars(builtins):
        type_names = (type_name for type_name, one in vars(types).items() if one is value)
        module, name = "types", next(type_names, "")  # such as types.MappingProxyType
    if isinstance(value, types.BuiltinFunctionType) and module == "torch":
        name = value.__name__  # torch.relu calls itself _VariableFunctionsClass.relu
    if isinstance(value, types.FunctionType) and name == _DISPATCHED:
        name = value.__name__  # F.max_pool2d and others that choose by return_indices
    if module is None or "<" in name or not name:
        return None
    return f"{module}:{name}"


def is_called(value: Any, name: str) -> bool:
    """Whether an object calls itself so: what stands in for another has a name of its own."""
    return isinstance(value, types.ModuleType) or _object_name(value) == name


def resolve(name: str) -> Any:
    """The object at `module` or `module:qualified.name`; raises ImportError or AttributeError."""
    module, _, qualified = name.partition(":")
    value: Any = importlib.import_module(module)
    for part in qualified.split(".") if qualified else ():
        value = getattr(value, part)
    return value


def scope_of(owner: str) -> Mapping[str, Any] | None:
    """The globals of a module, None where it cannot be imported."""
    try:
        return vars(sys.modules.get(owner) or importlib.import_module(owner))
    except ImportError:
        return None


def find_globals_module(function: types.FunctionType) -> str:
    """The module whose globals a function reads, whatever a decorator gave as its `__module__`."""
    return str(function.__globals__.get("__name__") or function.__module__ or "__main__")


def _importable(value: Any) -> bool:
    if value is None or value is ... or isinstance(value, bool):
        return True
    name = _object_name(value)
    try:
        return name is not None and resolve(name) is value
    except (ImportError, AttributeError):
        return False


_ASKED: Mapping[str, Any] = {one.kind: one for one in (CodeOf, Hidden, TensorCheck)}
"""What answers itself whether a value is the one, by what it is called in a manifest."""


def _encode(value: Any) -> dict[str, Any]:
    if isinstance(value, Path):
        return {"path": value.to_json()}
    if isinstance(value, CodeOf | Hidden | TensorCheck):
        return {value.kind: value.rows}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, types.ModuleType):
        return {"object": value.__name__}
    if isinstance(value, enum.Enum | types.FunctionType | types.BuiltinFunctionType | type):
        return {"object": _object_name(value)}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, frozenset):
        return {"frozenset": repr(tuple(value))}
    return {"literal": "..." if value is ... else repr(value)}


class _Replaced:
    """An object that another one stands in for where it was compiled; nothing is the same."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


def _decode(data: Mapping[str, Any]) -> Any:
    ((kind, text),) = data.items()
    if kind == "dtype":
        return getattr(torch, text)
    if kind == "device":
        return torch.device(text)
    if kind == "object":
        value = resolve(text)
        return value if is_called(value, text) else _Replaced(text)
    if kind == "float":
        return float.fromhex(text)
    if kind == "complex":
        return complex(*map(float.fromhex, text))
    if kind == "path":
        return Path.from_json(text)
    if kind in _ASKED:
        return _ASKED[kind](text)
    value = ast.literal_eval(text)
    return frozenset(value) if kind == "frozenset" else value


def from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[SpecializedValue, ...]:
    """Read the values in a manifest, those that can be compared in this process."""
    values = []
    for row in rows:
        path = Path.from_json(row["path"])
        with contextlib.suppress(ImportError, AttributeError):
            value = _decode(row["value"])
            one = SpecializedValue(path, value, row["check"], row["owner"], asked=row.get("asked"))
            values.append(replace(one, guarded=bool(row.get("guarded"))))
    return tuple(values)


@dataclass(frozen=True)
class SpecializedValues(LivePart):
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
        scopes: dict[str, Mapping[str, Any]] = {function_module: function_globals}
        for owner in {b.owner for b in values if b.owner and b.owner != function_module}:
            if (scope := scope_of(owner)) is not None:
                scopes[owner] = scope
        return cls(values, scopes)

    def on(self, device: str) -> SpecializedValues:
        """The same values with every tensor on one device."""
        values = (
            replace(one, value=one.value.on(device)) if one.check == TensorCheck.kind else one
            for one in self.values
        )
        return replace(self, values=tuple(values))

    @property
    def reachable(self) -> tuple[SpecializedValue, ...]:
        """The values that can be compared: arguments, and globals that exist in this process."""
        return tuple(
            b for b in self.values if b.owner is None or b.path.root in self.scopes.get(b.owner, {})
        )

    @property
    def not_there(self) -> tuple[SpecializedValue, ...]:
        """The globals that the program sets when it is first asked, and has not set here."""
        return tuple(
            one
            for one in self.values
            if one.asked
            and (scope := self.scopes.get(one.owner or "")) is not None
            and not one.is_there(scope)
        )

    def mismatches(
        self, bound: Mapping[str, Any], *, arguments: bool = True, guarded: bool = True
    ) -> list[str]:
        """A sentence for each value that is not the one that was compiled in.

        With `arguments=False` only globals are compared, with `guarded=False` no others than a
        file compares by itself.
        """
        problems = []
        for one in self.reachable:
            if (one.owner is None and not arguments) or (one.guarded and not guarded):
                continue
            scope = bound if one.owner is None else self.scopes[one.owner]
            if one.asked and not one.is_there(scope):
                continue
            try:
                value = one.path.get(scope)
                other = one.value.get(scope) if one.check == SAME else None
            except _FAILURES:
                problems.append(f"{one.name}: compiled with {one.value!s}, now it is gone")
                continue
            if one.check == SAME:
                if value is not other:
                    problems.append(f"{one.name}: compiled as the same object as {one.value}")
            elif not one.holds(value):
                problems.append(f"{one.name}: {one.said(value)}")
        return problems

    def checker(self, *, here: bool = False) -> Callable[[Mapping[str, Any]], bool] | None:
        """One fast function that compares every reachable value, or None when there is none.

        `here`, where it was compiled, torch's guards compare all but those that are unguarded.
        """
        reachable = [b for b in self.reachable if (b.unguarded if here else not b.guarded)]
        if not reachable:
            return None
        scope: dict[str, Any] = {"failures": _FAILURES, "torch": torch}  # of keys that are dtypes
        tests = []
        for i, one in enumerate(reachable):
            scope[f"c{i}"], scope[f"t{i}"] = one.value, type(one.value)
            source = "L" if one.owner is None else f"G{i}"
            if one.owner is not None:
                scope[source] = self.scopes[one.owner]
            if one.asked:
                scope[f"m{i}"] = SpecializedValues((one,), self.scopes).mismatches
                tests.append(f"not m{i}(L)")
                continue
            place = one.path.source(f"{source}[{one.path.root!r}]")
            if one.check == SAME:
                tests.append(f"{place} is {one.value.source(f'{source}[{one.value.root!r}]')}")
                continue
            tests.append(_CHECKS[one.check].format(at=place, c=f"c{i}", t=f"t{i}"))
        lines = ["def check(L):", "    try:", f"        return {' and '.join(tests)}"]
        exec("\n".join([*lines, "    except failures:", "        return False"]), scope)
        check: Callable[[Mapping[str, Any]], bool] = scope.pop("check")
        return check


def _shown(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    return _object_name(value) or repr(value) if isinstance(value, _OBJECTS) else repr(value)
