"""Operators on their way to another process: torch's own by name, those of the user anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from types import FunctionType
from typing import Any

import torch
from torch.library import CustomOpDef  # type: ignore[attr-defined]  # documented, not in __all__

from workbench.compiler.internals import torch_private as tp


def operator_reduced(value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """How `torch.ops`, a namespace or an operator is pickled; None for anything else."""
    if isinstance(value, type(torch.ops)):
        return getattr, (torch, "ops")
    if isinstance(value, type(torch.ops.aten)):
        return getattr, (torch.ops, value.name)
    if isinstance(value, (tp.OPS.get().OpOverload, tp.OPS.get().OpOverloadPacket)):
        return _found, (str(value),)
    return None


def _found(name: str) -> Any:
    """An operator by its name, such as `aten.relu` or `aten.relu.default`."""
    return attrgetter(name)(torch.ops)


@dataclass(frozen=True)
class CustomOperator:
    """What `torch.library.custom_op` was given, and what was registered for compilers."""

    name: str
    schema: str
    mutated: tuple[str, ...]
    function: Any
    fake: Any
    backward: Any
    setup_context: Any

    @classmethod
    def of(cls, value: Any) -> CustomOperator | None:
        """A custom operator; None for anything else and for one of Triton kernels."""
        if not isinstance(value, CustomOpDef) or value._torch_dispatch_fns:
            return None
        arguments = value._opoverload._schema.arguments
        return cls(
            name=value._qualname,
            schema=value._schema,
            mutated=tuple(a.name for a in arguments if a.alias_info and a.alias_info.is_write),
            function=value._init_fn,
            fake=value._abstract_fn,
            backward=value._backward_fn,
            setup_context=value._setup_context_fn,
        )

    def defined(self) -> Any:
        """The operator, made in this process."""
        made = torch.library.custom_op(
            self.name, self.function, mutates_args=self.mutated, schema=self.schema
        )
        if self.fake is not None:
            made.register_fake(self.fake)
        if self.backward is not None:
            made.register_autograd(self.backward, setup_context=self.setup_context)
        return made


def forget(operator: Any) -> None:
    """Undo `defined`: what another call finds under the name has to be its own."""
    operator._lib._destroy()


def used_operators(function: FunctionType) -> Iterator[Any]:
    """The custom operators of a function's module that it calls as `torch.ops.….name`."""
    names = function.__code__.co_names
    for value in tuple(function.__globals__.values()) if "ops" in names else ():
        if isinstance(value, CustomOpDef) and value._name in names:
            yield value
