"""How the values that guards look at are written: without running code of their classes."""

from __future__ import annotations

import copyreg
import enum
import importlib
import io
import pickle
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch.nn.utils.parametrize import is_parametrized

from workbench.compiler.captured_code.specialized_values import find_importable_name
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_like import TensorLike

_SHARED = (
    *(torch.dtype, torch.device, torch.layout, torch.memory_format, torch.qscheme, torch.Size),
    *(torch.finfo, torch.iinfo, np.dtype, np.generic, enum.Enum, range, slice, complex),
    *(type(...), type(NotImplemented), types.ModuleType),
)
"""Kinds of which one object stands in many places: the dtype of a module is that of its tensors."""
_OTHERS = ("torch", "sympy", "builtins", "collections", "functools", "traceback")
"""Modules whose own objects are written as torch writes them: guards and their sources."""
_WITHOUT_STATE = (types.GeneratorType, types.CoroutineType, types.FrameType, types.TracebackType)


def build_values_reducer(inner: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """What torch's pickler of guards asks about every object, with our answers before its own.

    Torch writes a mark in place of each object that no guard looks at, wherever that object stands
    again; and modules and objects in such a way that reading them runs `__setstate__`, `__new__`
    or `__getattr__` of their class, which meets those marks. Here what has no state of its own
    stays what it is, and the others are written as their class and their attributes alone.
    """
    fake = tp.FAKE_TENSOR.get()

    def reducer_override(pickler: Any, value: Any) -> Any:
        missing: dict[int, Any] = pickler.missing_values
        if id(value) in missing and _is_shared(value):
            del missing[id(value)]
        looked_at = id(value) in pickler.guard_tree_values
        if isinstance(value, type | types.FunctionType) and not looked_at:
            return inner(pickler, value) if _is_named(value) else (NotLookedAt, ())
        if isinstance(value, types.FunctionType) and not _is_named(value):
            return _function(value)
        reduced = inner(pickler, value)
        if isinstance(value, fake):
            return _described(value, reduced)
        if isinstance(value, torch.nn.Module):
            theirs = reduced is NotImplemented or reduced[0] == pickler._unpickle_module
            return _bare(value) if theirs else reduced
        if reduced is not NotImplemented:
            return reduced
        bare = _bare(value)
        return bare if bare is not NotImplemented or looked_at else _unlooked(value)

    return reducer_override


class NotLookedAt:
    """Stands for an object that cannot be written, and at which no guard looks."""

    def __getattr__(self, name: str) -> NotLookedAt:  # `lock.acquire` in what made use of a lock
        if name.startswith("__"):
            raise AttributeError(name)
        return NotLookedAt()

    def __call__(self, /, *args: object, **kwargs: object) -> NotLookedAt:
        """One more, where an object is rebuilt by calling it."""
        return NotLookedAt()


class _Picklable(pickle.Pickler):
    """Marks what cannot be pickled."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type | types.FunctionType):
            return NotImplemented if find_importable_name(value) is not None else (NotLookedAt, ())
        return NotImplemented if isinstance(value, torch.Tensor) else _unlooked(value)


def mark_unpicklable(value: Any) -> Any:
    """The value itself, or a copy with marks where a container holds what cannot be pickled."""
    try:
        pickle.dumps(value)
        return value
    except Exception:  # whatever the objects' own code raises
        buffer = io.BytesIO()
        _Picklable(buffer).dump(value)
        copied = pickle.loads(buffer.getvalue())
        return value if isinstance(copied, NotLookedAt) else copied


def _is_shared(value: Any) -> bool:
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return find_importable_name(value) is not None
    return isinstance(value, _SHARED)


def _is_named(value: type | types.FunctionType) -> bool:
    """Whether it can be imported; torch writes local functions of its own in guards."""
    return (
        find_importable_name(value) is not None
        or str(value.__module__).partition(".")[0] == "torch"
    )


def _function(value: types.FunctionType) -> Any:
    """A function that no import gives as its code, with what its closure holds set afterwards.

    Torch asks the name whether a function is local, and `functools.wraps` gives a wrapper another's
    name and module: it writes a mark. A closure that holds the function's owner would never end.
    """
    module = value.__globals__.get("__name__")
    arguments = (value.__code__, module if module in sys.modules else value.__module__)
    cells = tuple(map(_contents, value.__closure__ or ()))
    attributes = {"__qualname__": value.__qualname__, "__module__": value.__module__}
    state = (value.__defaults__, value.__kwdefaults__, cells, {**vars(value), **attributes})
    return make_function, arguments, state, None, None, fill_function


def _contents(cell: types.CellType) -> tuple[Any, ...]:
    """What a cell holds, in a tuple; none where its variable has no value yet."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def make_function(code: types.CodeType, module: str) -> types.FunctionType:
    """The function of a code with the globals of a module, and with cells that are empty."""
    cells = tuple(types.CellType() for _ in code.co_freevars)
    return types.FunctionType(code, vars(importlib.import_module(module)), None, None, cells)


def fill_function(
    function: types.FunctionType, kept: tuple[Any, Any, tuple[tuple[Any, ...], ...], dict[str, Any]]
) -> None:
    """Give a function that was made its defaults, what its cells hold, and its attributes."""
    function.__defaults__, function.__kwdefaults__, cells, attributes = kept
    for cell, contents in zip(function.__closure__ or (), cells, strict=True):
        if contents:
            cell.cell_contents = contents[0]
    for name, value in attributes.items():
        setattr(function, name, value)


def _described(value: Any, reduced: Any) -> Any:
    """What is written of a fake tensor describes the real one.

    Torch would write the whole fake mode with every tensor and the keys by which fakes are
    dispatched, which no real tensor has.
    """
    rebuild = tp.UNPICKLE_GUARDED_TENSOR.get()
    if not isinstance(reduced, tuple) or reduced[0] != rebuild:
        return reduced
    _, device, pytype, _, grad = reduced[1]
    if isinstance(value, torch.nn.Parameter):
        pytype = torch.nn.Parameter
    keys = tp.DISPATCH_KEYS.get()(value)
    for name in ("Python", "PythonTLSSnapshot"):
        keys = keys.remove(getattr(tp.DISPATCH_KEY.get(), name))
    with tp.UNSET_FAKE.get()():
        meta = TensorLike(value.shape, value.stride(), value.dtype, "meta").empty()
        meta.requires_grad_(value.requires_grad)
    return rebuild, (meta, device, pytype, keys.raw_repr(), grad)


def _bare(value: Any) -> Any:
    """An object as its class and its attributes; NotImplemented for one that is more than that."""
    kind = type(value)
    if isinstance(value, torch.nn.Module):
        # as torch, which reads one of a class that cannot be imported as a plain module
        kind = kind if _is_named(kind) and not is_parametrized(value) else torch.nn.Module
    elif kind.__module__.partition(".")[0] in _OTHERS or not _has_attributes_alone(kind):
        return NotImplemented
    slots = {name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}
    state = dict(getattr(value, "__dict__", {}))
    return object.__new__, (kind,), (state, slots), None, None, set_attributes


def _has_attributes_alone(kind: type) -> bool:
    if (
        kind in copyreg.dispatch_table
        or issubclass(kind, type)
        or kind.__reduce_ex__ is not object.__reduce_ex__
        or kind.__reduce__ is not object.__reduce__
        or not _is_named(kind)
    ):
        return False
    try:
        object.__new__(kind)
    except TypeError:  # built on a class of C, with memory of its own
        return False
    return True


def _slots(kind: type) -> list[str]:
    slots = []
    for base in kind.__mro__:
        names = vars(base).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            private = name.startswith("__") and not name.endswith("__")
            slots.append(f"_{base.__name__.lstrip('_')}{name}" if private else name)
    return [name for name in slots if name not in ("__dict__", "__weakref__")]


def set_attributes(value: Any, state: tuple[Mapping[str, Any], Mapping[str, Any]]) -> None:
    """Give an object that was made without code of its class the attributes that it had."""
    attributes, slots = state
    if attributes:
        vars(value).update(attributes)
    for name, content in slots.items():
        object.__setattr__(value, name, content)


def _unlooked(value: Any) -> Any:
    """An object at which no guard looks, marked where it cannot be pickled.

    It may still be a part of a value that is compared as a whole, so that it is kept if possible.
    """
    kind = type(value)
    if isinstance(value, torch.Generator):  # its state is a tensor, which is not written either
        return NotLookedAt, ()
    is_theirs = kind.__module__.partition(".")[0] in (*_OTHERS, "pybind11_builtins")
    if (is_theirs and kind not in _WITHOUT_STATE) or kind in copyreg.dispatch_table:
        return NotImplemented
    try:
        return value.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
    except Exception:  # whatever the object's own code raises
        return NotLookedAt, ()
