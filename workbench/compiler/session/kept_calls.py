"""The call that a frame was compiled for, kept so that it can be made again on a copy."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_all_inputs
from workbench.compiler.calls.paths import Path, leaves
from workbench.errors import UsageError

MOST_KEPT = 64 << 20
"""Bytes of the inputs of all calls that a session keeps."""
_MOST_OF_CALL = 16 << 20
_PLAIN = (torch.Tensor, int, float, complex, bool, str, bytes, type(None))


@dataclass(frozen=True)
class Held:
    """A plain value, or an object that is not kept alive."""

    value: Any = None
    object: Callable[[], Any] | None = None

    @classmethod
    def of(cls, value: Any) -> Held:
        """Hold a value; raises `TypeError` for an object that can only be kept alive."""
        return cls(value) if isinstance(value, _PLAIN) else cls(None, weakref.ref(value))

    @property
    def is_gone(self) -> bool:
        """Whether the object is no longer there."""
        return self.object is not None and self.object() is None

    def read(self) -> Any:
        """The value, or the object as long as it is there."""
        return self.value if self.object is None else self.object()


@dataclass(frozen=True)
class KeptCall:
    """What one call of a frame was given: copies of tensors, numbers and containers of them.

    Other objects are held weakly: a session keeps nothing of the program alive.
    """

    code: CodeType
    globals: dict[str, Any] = field(repr=False)
    values: Mapping[str, Any] = field(repr=False)
    objects: Mapping[str, Held] = field(repr=False)
    cells: tuple[Held, ...] = field(repr=False)
    size: int

    def read(self) -> tuple[dict[str, Any], tuple[CellType, ...]]:
        """The arguments by name and the cells of the closure; raises `UsageError` for what is gone.

        Every call gets copies of its own.
        """
        gone = [name for name, held in self.objects.items() if held.is_gone]
        if gone or any(held.is_gone for held in self.cells):
            what = ", ".join(gone) or "a variable of the function around it"
            raise UsageError(f"The call cannot be made again: {what} is gone.")
        (copies,), _ = copy_all_inputs((dict(self.values),), {})
        given = {**copies, **{name: held.read() for name, held in self.objects.items()}}
        return given, tuple(CellType(held.read()) for held in self.cells)

    def function(self, cells: tuple[CellType, ...], code: CodeType | None = None) -> FunctionType:
        """The frame as a function, of other code where that is given."""
        return FunctionType(code or self.code, self.globals, self.code.co_name, None, cells)

    def arrange(self, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by name as the call takes them."""
        code, names = self.code, self.code.co_varnames
        count, only = code.co_argcount, code.co_kwonlyargcount
        args = [given[name] for name in names[:count]]
        kwargs = {name: given[name] for name in names[count : count + only]}
        at = count + only
        if code.co_flags & 0x04:  # *args
            args += given[names[at]]
            at += 1
        if code.co_flags & 0x08:  # **kwargs
            kwargs |= given[names[at]]
        return tuple(args), kwargs


def keep_call(
    code: CodeType,
    globals_: dict[str, Any],
    given: Mapping[str, Any],
    closure: tuple[CellType, ...],
    left: int,
) -> KeptCall | None:
    """A call to be made again; None where its inputs are too large, or cannot be copied."""
    values: dict[str, Any] = {}
    objects: dict[str, Held] = {}
    for name, value in given.items():
        found = [leaf for _, leaf in leaves(value, Path(name))]
        if all(isinstance(leaf, _PLAIN) for leaf in found):
            values[name] = value
        else:
            objects[name] = Held.of(value)
    tensors = [
        leaf
        for _, leaf in leaves(values, Path("call"))
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided
    ]
    size = sum(tensor.nbytes for tensor in tensors)
    if size > min(left, _MOST_OF_CALL):
        return None
    (copies,), _ = copy_all_inputs((values,), {})
    cells = tuple(Held.of(cell.cell_contents) for cell in closure)
    return KeptCall(code, globals_, copies, objects, cells, size)
