"""Takes a function, its example inputs and options to another process without its tensors' data.

Dynamo runs in the worker, on the unpickled function: only there may `torch.cuda` claim a device, so
only there do `x.is_cuda`, autocast and attention take the branches of the target. Sending what
Dynamo captured here instead would fix the branches of the user's own machine.

Tensors travel as descriptions and arrive as fakes on the target's device, so that a model on meta,
or one of many gigabytes, costs nothing. Functions and classes of the user travel by value: the
worker sees what a notebook sees, not what a file says by now. Torch writes them into a file by
their names, and follows a call into another module by importing that: both must meet the objects
that were sent, not a second copy.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import cloudpickle
import torch
from torch.nn.utils.parametrize import is_parametrized

from workbench.compiler.cluster.shipped_meshes import reduce_group
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.shipped_operators import (
    CustomOperator,
    DefinedOperator,
    LibraryOperator,
    forget,
)
from workbench.compiler.internals.tensor_like import PLAIN, TensorLike
from workbench.compiler.internals.tensor_subclass import Flattened, is_flattenable
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.sent_modules import Named
from workbench.device_kinds import CPU, GPU
from workbench.errors import UsageError
from workbench.processes.shipping.anew import AnewPickler, is_users
from workbench.processes.shipping.shipped_values import explain_unsendable

_CURE = "Pass such objects as arguments that are not compiled, or make them inside the function."


@dataclass(frozen=True)
class ShippedCall:
    """What is compiled, and the state of torch.

    `named` are the user's own classes and functions in it, once it has arrived, `operators` the
    custom operators that were made for it.
    """

    request: CompileRequest
    state: TorchState
    named: tuple[Named, ...] = ()
    operators: tuple[Any, ...] = ()


def pack(call: ShippedCall, name: str) -> bytes:
    """`call` as bytes, tensors described only; raises `UsageError` for what cannot travel."""
    buffer = io.BytesIO()
    try:
        with _users_modules_by_value():
            packer = _Packer(buffer)
            packer.dump(_with_inputs(call, (), {}))
            packer.dump_inputs(call.request)
            packer.refuse_lost_gradients(call.request)
            packer.dump(
                (packer.named(), tuple(packer.operators))
            )  # with the same memory: these objects, no copies
    except UsageError:
        raise
    except Exception as error:  # pickling raises whatever the objects raise
        with _users_modules_by_value():
            raise explain_unsendable(error, vars(call.request), name, _dump, _CURE) from error
    return buffer.getvalue()


def unpack(data: bytes, mode: Any) -> ShippedCall:
    """What `pack` packed, with fakes of `mode` on the target's device for its tensors."""
    unpacker = _Unpacker(io.BytesIO(data), mode)
    try:
        call: ShippedCall = unpacker.load()
        args, kwargs = unpacker.load()
        named, _ = unpacker.load()
    except Exception:
        for operator in unpacker.operators:
            forget(operator)
        raise
    made = tuple(unpacker.operators)
    return replace(_with_inputs(call, args, kwargs), named=named, operators=made)


def _with_inputs(
    call: ShippedCall, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> ShippedCall:
    return replace(call, request=replace(call.request, args=args, kwargs=kwargs))


_Described = TensorLike | Flattened | CustomOperator | DefinedOperator


def _dump(value: Any) -> None:
    _Packer(io.BytesIO()).dump(value)


class _Packer(AnewPickler):
    def __init__(self, buffer: io.BytesIO):
        super().__init__(buffer)
        self._kept: dict[int, Any] = {}  # keeps what was seen alive, so that ids stay unique
        self._own = {"__main__", *cloudpickle.list_registry_pickle_by_value()}
        self._named: dict[tuple[str, str], Any] = {}
        self._is_input = False
        self._has_grad = False

    def dump_inputs(self, call: CompileRequest) -> None:
        """Pack the inputs: a device in them, as a cache has it, is that of their tensors."""
        self._is_input = True
        self.dump((call.args, call.kwargs))
        self._is_input = False

    def refuse_lost_gradients(self, call: CompileRequest) -> None:
        """Raise `UsageError` where an operator's backward would have to be traced elsewhere."""
        operators = (one for one in self.operators if isinstance(one, LibraryOperator))
        defined = map(DefinedOperator.of, operators)
        lost = next((one.name for one in defined if one.has_backward), None)
        if lost is not None and self._has_grad and call.options.grad is not False:
            raise UsageError(
                f"The backward of {lost} cannot be compiled for a virtual GPU: of what "
                "torch.library.register_autograd was given torch gives nothing back. Compile with "
                "grad=False, or define the operator with torch.library.custom_op."
            )

    def named(self) -> tuple[Named, ...]:
        """The classes and functions that were packed and that their modules have by name."""
        return tuple((module, name, value) for (module, name), value in self._named.items())

    def persistent_id(self, value: Any) -> tuple[int, _Described] | None:
        """Describe a tensor or a custom operator, with what tells it apart; pickle all else.

        The inner tensors of a flattened one are met in its description, and described too.
        """
        if id(value) not in self._kept:
            is_tensor = isinstance(value, torch.Tensor)
            self._has_grad |= is_tensor and value.requires_grad
            described = _described(value) if is_tensor else _described_operator(value)
            if described is None:
                return None
            self._kept[id(value)] = value, described
        return id(value), self._kept[id(value)][1]

    def reducer_override(self, value: Any) -> Any:
        """Note the user's classes and functions and custom operators on the way."""
        if isinstance(value, type | types.FunctionType) and value.__module__ in self._own:
            module, name = value.__module__, value.__qualname__
            if getattr(sys.modules.get(module), name, None) is value:
                self._named[module, name] = value
        if isinstance(value, FunctionType) and (named := _chosen_by_flag(value)) is not None:
            return getattr, named
        if isinstance(value, torch.nn.Module) and is_parametrized(value):
            # its own class, made for it alone, refuses; the class and what it holds can travel
            return object.__new__, (type(value),), vars(value)
        if (group := reduce_group(value)) is not None:
            return group
        if isinstance(value, torch.device) and self._is_input:
            return torch.device, (GPU if value.type == CPU else str(value),)
        return super().reducer_override(value)


class _Unpacker(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, mode: Any):
        super().__init__(buffer)
        self._mode = mode
        self._made: dict[int, Any] = {}
        self.operators: list[Any] = []

    def persistent_load(self, described: tuple[int, _Described]) -> Any:
        """The fake or operator for a description; the same one for the same object."""
        key, like = described
        if key not in self._made:
            if isinstance(like, CustomOperator | DefinedOperator):
                self._made[key] = like.defined()
                if self._made[key] is not None:
                    self.operators.append(self._made[key])
                return self._made[key]
            with self._mode:
                self._made[key] = (
                    like.rebuilt(GPU)
                    if isinstance(like, Flattened)
                    else like.dressed(like.empty(GPU))
                )
        return self._made[key]


def _described_operator(value: Any) -> CustomOperator | DefinedOperator | None:
    is_of_library = isinstance(value, LibraryOperator)
    return DefinedOperator.of(value) if is_of_library else CustomOperator.of(value)


def _described(value: torch.Tensor) -> TensorLike | Flattened:
    if value.layout is not torch.strided or value.is_quantized:
        raise UsageError(
            f"A tensor of layout {value.layout} cannot be compiled for a virtual GPU: only dense "
            "tensors can. Pass value.to_dense(), or compile with target='host'."
        )
    if is_flattenable(value):
        return Flattened.of(value)
    if type(value) not in (*PLAIN, tp.FAKE_TENSOR.get()):
        raise UsageError(
            f"A {type(value).__name__} cannot be compiled for a virtual GPU: it is a tensor "
            "subclass without __tensor_flatten__, which says what it is made of. Replace it by a "
            "plain tensor, or compile with target='host' on a machine with the GPU."
        )
    return TensorLike.of(value)


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


@contextlib.contextmanager
def _users_modules_by_value() -> Iterator[None]:
    """Have cloudpickle copy what belongs to the user, and name what is installed."""
    known = set(cloudpickle.list_registry_pickle_by_value())
    # by its own name: a module may stand in sys.modules under several
    users = {m.__name__: m for m in list(sys.modules.values()) if is_users(m)}
    modules = [module for name, module in users.items() if name not in known]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
