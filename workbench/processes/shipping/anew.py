"""A pickler for what another process can have of its own: locks, context variables, hooks."""

from __future__ import annotations

import importlib
import io
import sys
import threading
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from types import CellType, CodeType, FunctionType
from typing import Any

import cloudpickle
import torch
from torch.nn.utils.parametrize import is_parametrized

from workbench.compiler.internals.shipped_operators import find_used_operators, operator_reduced
from workbench.compiler.internals.signatures import drop_bad_annotations
from workbench.compiler.internals.triton_functions import reduce_function
from workbench.compiler.internals.users_modules import is_users as is_users

Reduced = tuple[Any, ...]
_LOCK, _RLOCK = type(threading.Lock()), type(threading.RLock())
_NO_FILE = "<dynamic-code>"
_COPIED = (
    "__name__",
    "__qualname__",
    "__module__",
    "__doc__",
    "__defaults__",
    "__kwdefaults__",
    "__annotations__",
)


class AnewPickler(cloudpickle.Pickler):  # type: ignore[misc]  # has no types
    """Pickles what cloudpickle does, what `make_anew` knows, and torch's operators by name.

    `operators` are the user's custom operators that what was pickled names.
    """

    def __init__(self, buffer: io.BytesIO):
        super().__init__(buffer)
        self._registries: Registries = {}
        self.operators: list[Any] = []

    def reducer_override(self, value: Any) -> Any:
        """As `pickle.Pickler.reducer_override`."""
        if isinstance(value, FunctionType):
            self.operators += find_used_operators(value)
            if (named := _chosen_by_flag(value)) is not None:
                return getattr, named
        if isinstance(value, torch.nn.Module) and is_parametrized(value):
            # its own class, made for it alone, refuses; the class and what it holds can travel
            return object.__new__, (type(value),), vars(value)
        if (operator := operator_reduced(value)) is not None:
            self.operators += find_used_operators(value)
            return operator
        if (anew := make_anew(value) or reduce_function(value)) is not None:
            return anew
        with drop_bad_annotations(value):
            return self._reduced(value)

    def _reduced(self, value: Any) -> Any:
        if isinstance(value, CodeType):
            return code_with_file(self, value)
        reduced = super().reducer_override(value)
        if isinstance(value, type) and isinstance(reduced, tuple):
            return class_with_place(value, reduced)
        if not isinstance(value, FunctionType) or reduced is NotImplemented:
            return reduced
        return function_in_module(value, self._registries, self._can_travel) or reduced

    def _can_travel(self, value: Any) -> bool:
        try:
            type(self)(io.BytesIO()).dump(value)
        except Exception:  # that it cannot is the answer
            return False
        return True


def code_with_file(pickler: cloudpickle.Pickler, code: CodeType) -> Reduced:
    """How cloudpickle pickles code, with its file: from 3.1.3 on that is "<dynamic-code>" there.

    The lines of a record are found by it, and the sources of a notebook's cells.
    """
    make, values = pickler.dispatch_table[CodeType](code)
    return make, tuple(code.co_filename if value == _NO_FILE else value for value in values)


def _chosen_by_flag(value: FunctionType) -> tuple[Any, str] | None:
    """Where torch has one of its functions that a flag chooses between, such as F.max_pool2d.

    They are made by torch._jit_internal.boolean_dispatch and so have no name of their own; Dynamo
    knows each by its identity, and follows no copy.
    """
    module = sys.modules.get(value.__module__ or "")
    is_of_torch = (value.__module__ or "").partition(".")[0] == "torch"
    if not is_of_torch or getattr(module, value.__name__, None) is not value:
        return None
    return (module, value.__name__) if "<locals>" in value.__qualname__ else None


def make_anew(value: Any) -> Reduced | None:
    """How a lock, a context variable, a weak reference or a compiled module is pickled, else None.

    A compiled module has `sent_as`: the other process gets its original.
    """
    if isinstance(value, _LOCK):
        return threading.Lock, ()
    if isinstance(value, _RLOCK):
        return threading.RLock, ()
    if type(value) is threading.local:
        return threading.local, ()
    if isinstance(value, ContextVar):
        return _context_variable, (value.name, *_now(value))
    if type(value) is weakref.ReferenceType:
        target = value()
        return (_ended, ()) if target is None else (weakref.ref, (target,))
    if type(value) in (weakref.WeakKeyDictionary, weakref.WeakValueDictionary):
        return type(value), (dict(value),)
    if hasattr(type(value), "sent_as"):
        return _same, (value.sent_as,)
    return None


def _same(value: Any) -> Any:
    return value


def _now(variable: ContextVar[Any]) -> tuple[Any, ...]:
    try:
        return (variable.get(),)
    except LookupError:
        return ()


def _context_variable(name: str, *value: Any) -> ContextVar[Any]:
    return ContextVar(name, default=value[0]) if value else ContextVar(name)


class _Nothing:
    """What a weak reference spoke of that is gone."""


def _ended() -> Callable[[], Any]:
    return weakref.ref(_Nothing())


def class_with_place(cls: type, reduced: Reduced) -> Reduced:
    """How cloudpickle sends a class, with its `__qualname__`, which it forgets.

    torch does not write the type of a local class into guards; without `<locals>` in its name it
    tries to, and finds no such class.
    """
    if cls.__qualname__ == cls.__name__ or len(reduced) < 3 or not isinstance(reduced[2], tuple):
        return reduced
    members, slots = reduced[2]
    return *reduced[:2], ({**members, "__qualname__": cls.__qualname__}, slots), *reduced[3:]


Registries = dict[str, dict[str, dict[Any, Any]]]
"""By module, then by name there: the entries of its dictionaries."""


def function_in_module(
    function: FunctionType, registries: Registries, can_travel: Callable[[Any], bool]
) -> Reduced | None:
    """How a function that was made inside one of an installed module is pickled, else None.

    Its globals are those of the module over there: a copy would have other variables than the
    functions beside it, which go by name. Such a module knows in its dictionaries what was made
    with it (Transformers: which outputs of which model have hooks), so they get what they lack.
    `registries` keeps what was found for a module.
    """
    module = sys.modules.get(function.__globals__.get("__name__", ""))
    if module is None or vars(module) is not function.__globals__:
        return None
    name = module.__name__
    is_found = getattr(module, "__spec__", None) is not None  # by an import in another process
    if not is_found or name == "__main__" or is_users(module):
        return None
    if name not in registries:
        is_torch = name.partition(".")[0] in ("torch", "triton")
        registries[name] = {} if is_torch else _registries(vars(module), can_travel)
    cells = [_content(cell) for cell in function.__closure__ or ()]
    copied = {attribute: getattr(function, attribute) for attribute in _COPIED}
    state = cells, copied, vars(function)
    arguments = name, registries[name], function.__code__, len(cells)
    return _function, arguments, state, None, None, _complete


def _registries(
    scope: dict[str, Any], can_travel: Callable[[Any], bool]
) -> dict[str, dict[Any, Any]]:
    """The dictionaries of a module, which a process fills while it runs."""
    return {
        name: dict(value)
        for name, value in scope.items()
        if isinstance(value, dict) and not name.startswith("__") and can_travel(value)
    }


def _content(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # nothing was assigned yet
        return ()


def _function(
    module: str, registries: dict[str, dict[Any, Any]], code: CodeType, cells: int
) -> FunctionType:
    scope = vars(importlib.import_module(module))
    for name, entries in registries.items():
        if not isinstance(scope.get(name), dict):  # made when it was first needed
            scope[name] = {}
        for key, value in entries.items():
            dict.setdefault(scope[name], key, value)  # not what a class of its own does with it
    return FunctionType(code, scope, closure=tuple(CellType() for _ in range(cells)))


def _complete(function: FunctionType, state: tuple[Any, ...]) -> None:
    """Give a function its cells and attributes, which may hold the function itself."""
    cells, copied, attributes = state
    for cell, content in zip(function.__closure__ or (), cells, strict=True):
        if content:
            cell.cell_contents = content[0]
    for name, value in copied.items():
        setattr(function, name, value)
    vars(function).update(attributes)
