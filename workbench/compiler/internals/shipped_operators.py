"""Operators on their way to another process: torch's own by name, those of the user anew."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any

import torch
from torch.library import CustomOpDef  # type: ignore[attr-defined]  # documented, not in __all__

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.users_modules import is_users
from workbench.errors import UsageError

_AUTOGRAD = ("Autograd", "AutogradCPU", "AutogradCUDA")


def operator_reduced(value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """How `torch.ops`, a namespace or an operator is pickled; None for anything else."""
    if isinstance(value, type(torch.ops)):
        return getattr, (torch, "ops")
    if isinstance(value, type(torch.ops.aten)):
        return getattr, (torch.ops, value.name)
    if isinstance(value, (tp.OPS.get().OpOverload, tp.OPS.get().OpOverloadPacket)):
        qualified = tp.schema_of(value).name if isinstance(value, tp.OPS.get().OpOverload) else ""
        definition = tp.OPERATOR_DEFINITIONS.get().get(
            qualified or str(value).replace(".", "::", 1)
        )
        module = _name_torch_module(definition) if definition is not None else ""
        # an operator of the user is an argument: it is made there before it is looked up by name
        arguments = () if definition is None or module else (definition,)
        return _found, (str(value), module, *arguments)
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
        operator: Any = make(self.name, function, mutates_args=self.mutated, schema=self.schema)
        if self.fake is not None and not self.is_of_triton:
            operator.register_fake(self.fake)
        if self.backward is not None:
            operator.register_autograd(self.backward, setup_context=self.setup_context)
        return operator


@dataclass(frozen=True)
class LibraryOperator:
    """An operator of `torch.library.define` or a `Library`, by its name such as `mylib::scale`."""

    name: str


@dataclass(frozen=True)
class DefinedOperator:
    """An operator that `torch.library.define` or a `Library` defined, as a trace needs it.

    What it computes stays here: the dispatcher gives back no function that was registered with it.
    `module` is the one that defines it when it is imported: an installed one, or one of the user
    for a process that runs the operator; "" where the description has to do.
    """

    name: str
    module: str
    schema: str = ""
    fake: Any = None
    has_backward: bool = False

    @classmethod
    def of(cls, operator: LibraryOperator, is_run: bool = False) -> DefinedOperator:
        """Describe an operator; raises `UsageError` for one that cannot be traced elsewhere.

        Or where it `is_run`: for one that only this process can run.
        """
        name = operator.name
        entry = tp.FAKE_KERNELS.get().find(name)
        fake = None if entry.fake_impl.kernel is None else _unwrap(entry.fake_impl.kernel.func)
        module = _find_module(name, fake)
        if module is not None and (is_run or not is_users(module)):
            return cls(name, module.__name__)
        if is_run:
            raise UsageError(
                f"The operator {name} exists only in this process, because torch cannot return "
                "functions registered with torch.library.impl or a Library. Define it with "
                "torch.library.custom_op, or in an importable module."
            )
        if fake is None:
            raise UsageError(
                f"The operator {name} cannot be sent to another process: it has no "
                f'torch.library.register_fake("{name}"), and torch cannot return Library '
                "registrations. Register one, or define the operator with torch.library.custom_op."
            )
        namespace, own = name.split("::")
        packet, _, overload = own.partition(".")
        packets = getattr(torch.ops, namespace)
        defined = getattr(getattr(packets, packet), overload or "default")
        schema = str(tp.schema_of(defined)).removeprefix(f"{namespace}::")
        has_backward = any(tp.HAS_KERNEL.get()(name, key) for key in _AUTOGRAD)
        return cls(name, "", schema, fake, has_backward)

    def defined(self) -> Any:
        """The library that defines the operator in this process; None where it is there."""
        if self.module:
            importlib.import_module(self.module)
        if self.name in tp.DEFINED_OPERATORS.get():
            return None
        library: Any = torch.library.Library(self.name.split("::")[0], "FRAGMENT")  # type: ignore[no-untyped-call]
        library.define(self.schema)
        torch.library.register_fake(self.name, self.fake, lib=library)
        return library


def _unwrap(fake: FunctionType) -> Any:
    """The user's function: torch 2.13 wraps those of a module in one of its own, to check once."""
    wrapped = inspect.getclosurevars(fake).nonlocals.get("func")
    return fake if wrapped is None or fake.__module__ != torch.library.__name__ else wrapped


def _find_module(name: str, fake: Any) -> ModuleType | None:
    """The module whose import defines an operator; None for one of `__main__`, or not known."""
    modules = [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
    held = (
        module
        for module in modules
        for value in list(vars(module).values())
        if type(value) is torch.library.Library and name in getattr(value, tp.DEFINED_BY_LIBRARY)
    )
    owner = next(held, sys.modules.get(getattr(fake, "__module__", None) or ""))
    return None if owner is None or owner.__name__ == "__main__" else owner


def forget(operator: Any) -> None:
    """Undo `defined`: what another call finds under the name has to be its own."""
    is_library = isinstance(operator, torch.library.Library)
    library = operator if is_library else getattr(operator, tp.CUSTOM_OPERATOR_LIBRARY)
    tp.DESTROY_LIBRARY.get()(library)


def find_used_operators(value: Any) -> Iterator[Any]:
    """The user's operators behind a function's `torch.ops.….name`, an operator or a namespace."""
    if isinstance(value, FunctionType):
        names = set(value.__code__.co_names)
        used_names = names if "ops" in names else set()
    elif isinstance(value, type(torch.ops.aten)):
        used_names = {value.name, *dir(value)}
    else:
        used_names = set(str(value).split(".")[:2])
    definitions = tp.OPERATOR_DEFINITIONS.get()
    for name, operator in tuple(definitions.items()):
        if set(name.split("::")) <= used_names and not _name_torch_module(operator):
            yield operator
    for name in sorted(tp.DEFINED_OPERATORS.get() - set(definitions)):
        namespace, operator = name.split("::")
        if namespace in used_names and operator.partition(".")[0] in used_names:
            yield LibraryOperator(name)


def _name_torch_module(operator: Any) -> str:
    """The module of torch that defines an operator when it is imported; "" for the user's."""
    module = str(getattr(operator, tp.CUSTOM_OPERATOR["function"]).__module__)
    return module if module.partition(".")[0] == "torch" else ""
