"""Operators on their way to another process: torch's own by name, those of the user anew."""

from __future__ import annotations

import importlib
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
        qualified = tp.schema_of(value).name if isinstance(value, tp.OPS.get().OpOverload) else ""
        known = tp.OPERATOR_DEFINITIONS.get().get(qualified or str(value).replace(".", "::", 1))
        module = _name_torch_module(known) if known is not None else ""
        # an operator of the user is an argument: it is made there before it is looked up by name
        made = () if known is None or module else (known,)
        return _found, (str(value), module, *made)
    return None


def _found(name: str, module: str, *_: Any) -> Any:
    """An operator by its name, such as `aten.relu.default`; `module` defines it, "" at once."""
    if module:
        importlib.import_module(module)
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
    is_of_triton: bool

    @classmethod
    def of(cls, value: Any) -> CustomOperator | None:
        """A custom operator; None for anything else and for one with a rule for a tensor class."""
        if not isinstance(value, CustomOpDef):
            return None
        parts = {name: getattr(value, stored) for name, stored in tp.CUSTOM_OPERATOR.items()}
        rules = parts.pop("rules").values()
        is_of_triton = bool(rules) and all(
            rule.__module__ == tp.TRITON_OPERATORS.module for rule in rules
        )
        if rules and not is_of_triton:
            return None
        arguments = tp.schema_of(parts.pop("overload")).arguments
        mutated = tuple(a.name for a in arguments if a.alias_info and a.alias_info.is_write)
        return cls(**parts, mutated=mutated, is_of_triton=is_of_triton)

    def defined(self) -> Any:
        """The operator, made in this process."""
        # of the function of a `triton_op` torch makes the fake one as well
        make = torch.library.triton_op if self.is_of_triton else torch.library.custom_op
        function = self.fake if self.is_of_triton else self.function
        made: Any = make(self.name, function, mutates_args=self.mutated, schema=self.schema)
        if self.fake is not None and not self.is_of_triton:
            made.register_fake(self.fake)
        if self.backward is not None:
            made.register_autograd(self.backward, setup_context=self.setup_context)
        return made


def forget(operator: Any) -> None:
    """Undo `defined`: what another call finds under the name has to be its own."""
    tp.DESTROY_LIBRARY.get()(getattr(operator, tp.CUSTOM_OPERATOR_LIBRARY))


def find_used_operators(value: Any) -> Iterator[Any]:
    """The custom operators behind a function's `torch.ops.….name`, an operator or a namespace."""
    if isinstance(value, FunctionType):
        names = set(value.__code__.co_names)
        wanted = names if "ops" in names else set()
    elif isinstance(value, type(torch.ops.aten)):
        wanted = {value.name, *dir(value)}
    else:
        wanted = set(str(value).split(".")[:2])
    for name, operator in tuple(tp.OPERATOR_DEFINITIONS.get().items()):
        if set(name.split("::")) <= wanted and not _name_torch_module(operator):
            yield operator


def _name_torch_module(operator: Any) -> str:
    """The module of torch that defines an operator when it is imported; "" for the user's."""
    module = str(getattr(operator, tp.CUSTOM_OPERATOR["function"]).__module__)
    return module if module.partition(".")[0] == "torch" else ""
