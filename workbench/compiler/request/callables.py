"""What the user handed over, resolved to one Python function that Dynamo can trace."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import torch

from workbench.compiler.calls.call_path import build_binder
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.signatures import signature_of
from workbench.errors import UsageError

_PARALLEL = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)


@dataclass(frozen=True)
class Callee:
    """A callable ready to be traced.

    `entry` is what Dynamo is given, `function` the Python function behind it, `receiver` the
    object that is passed first (a module or the `self` of a bound method).
    """

    entry: Callable[..., Any]
    function: types.FunctionType
    kind: str
    name: str
    receiver: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def module(self) -> torch.nn.Module | None:
        """The called module, or None."""
        owner = self.receiver[0] if self.receiver else None
        return owner if isinstance(owner, torch.nn.Module) else None

    @property
    def closure(self) -> dict[str, Any]:
        """The variables of an enclosing function that it reads, with their values now."""
        return read_closure(self.function)

    def share_closure(self, aot_fn: Any) -> None:
        """Put these values into the closure of what torch loaded, in place of its copies."""
        env, live = tp.artifacts_of(aot_fn).runtime_env, self.closure
        for name, cell in zip(env.bytecode.co_freevars, env.closure or (), strict=True):
            if name in live:
                cell.cell_contents = live[name]


@dataclass(frozen=True)
class BoundCall:
    """A callable with its example inputs by parameter name; the receiver is the first of them."""

    callee: Callee
    bound: Mapping[str, Any]

    @classmethod
    def of(cls, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Self:
        """Raises `UsageError` for what cannot be traced, and for inputs that do not fit it."""
        callee = resolve(target)
        signature = signature_of(callee.function, follow_wrapped=False)
        try:
            bound = build_binder(signature)(*callee.receiver, *args, **kwargs)
        except TypeError as error:
            words = str(error).replace("call()", f"{callee.name}()")
            raise UsageError(
                f"The example inputs do not fit {callee.name}{signature}: {words}."
            ) from error
        call = cls(callee, bound)
        check_inputs(call.inputs)
        return call

    @property
    def receiver(self) -> str | None:
        """The name of the parameter that the receiver is passed as."""
        return next(iter(self.bound)) if self.callee.receiver else None

    @property
    def inputs(self) -> dict[str, Any]:
        """The example inputs without the receiver."""
        return {name: value for name, value in self.bound.items() if name != self.receiver}


def find_compiled_parts(target: Any) -> list[str]:
    """The names of the submodules that `aot_compile` made: each has `sent_as`, its original."""
    if not isinstance(target, torch.nn.Module):
        return []
    return [name for name, part in target.named_modules() if hasattr(type(part), "sent_as")]


def read_closure(function: types.FunctionType) -> dict[str, Any]:
    """The variables of an enclosing function that a function reads, with their values now."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells}


def resolve(target: Any) -> Callee:
    """Unwrap what torch.compile, functools.partial and data parallelism put around a callable.

    Raises `UsageError` when the object cannot be called or traced.
    """
    partials: list[functools.partial[Any]] = []
    notes: list[str] = []
    while True:
        inner = uncompiled(target)
        if inner is not None:
            target = inner
        elif isinstance(target, _PARALLEL):
            notes.append(
                f"unwrapped {type(target).__name__}: its module is compiled, and the result "
                "neither scatters the batch nor averages gradients across processes"
            )
            target = target.module
        elif isinstance(target, functools.partial):
            partials.append(target)
            target = target.func
        else:
            break
    callee = _callee(target)
    check_function(callee.function, callee.name)
    for partial in reversed(partials):
        callee = _with_bound(callee, partial)
    if callee.module is not None and getattr(callee.module, "_compiled_call_impl", None):
        notes.append("module.compile() was called on this module; its settings are not used here")
    return replace(callee, notes=tuple(dict.fromkeys(notes)))


def uncompiled(target: Any) -> Any | None:
    """The object behind what torch.compile returned, or None."""
    if isinstance(target, torch.jit.ScriptModule):
        return None
    if isinstance(target, torch.nn.Module):
        return target.__dict__.get("_orig_mod") or target._modules.get("_orig_mod")
    if inspect.isfunction(target):
        return getattr(target, "_torchdynamo_orig_callable", None)
    return None


def _callee(target: Any) -> Callee:
    if isinstance(target, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        raise UsageError(
            "TorchScript code cannot be traced. Compile the eager module or function that it was "
            "created from."
        )
    if isinstance(target, torch.nn.Module):
        function, owner = tp.GET_TRACED_FN.get()(target)
        return Callee(target, function, "module", type(target).__name__, (owner,))
    if inspect.ismethod(target) and inspect.isfunction(target.__func__):
        name = target.__func__.__qualname__
        return Callee(target, target.__func__, "method", name, (target.__self__,))
    if inspect.isfunction(target) and (target.__module__ or "").partition(".")[0] == "torch":
        # Dynamo takes torch's own functions into the graph when they are called, not as a frame
        function = _through_python(target)
        return Callee(function, function, "function", target.__qualname__)
    if inspect.isfunction(target):
        kind = "closure" if target.__closure__ else "function"
        kind = "lambda" if target.__name__ == "<lambda>" else kind
        return Callee(target, target, kind, target.__qualname__)
    method = inspect.getattr_static(type(target), "__call__", None)
    is_torch_op = type(target).__module__.startswith(tp.OPS.module)
    if inspect.isfunction(method) and not isinstance(target, type) and not is_torch_op:
        bound = types.MethodType(method, target)
        return Callee(bound, method, "callable object", type(target).__qualname__, (target,))
    if not callable(target):
        raise UsageError(
            f"{target!r} ({type(target).__name__}) cannot be called. Pass the function or module "
            "itself and its example inputs as args, e.g. aot_compile(model, (x,))."
        )
    function = _through_python(target)
    return Callee(function, function, "builtin", getattr(target, "__name__", repr(target)))


def _through_python(target: Callable[..., Any]) -> Any:
    """A Python function that calls `target`: Dynamo traces Python frames, not C functions."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return target(*args, **kwargs)

    return call


def _with_bound(callee: Callee, partial: functools.partial[Any]) -> Callee:
    """The same callable with the arguments that functools.partial bound."""
    bound_args, bound_kwargs = partial.args, dict(partial.keywords)
    target = callee.function

    def on_module(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self(*bound_args, *args, **{**bound_kwargs, **kwargs})

    def on_object(self: Any, *args: Any, **kwargs: Any) -> Any:
        return target(self, *bound_args, *args, **{**bound_kwargs, **kwargs})

    def on_nothing(*args: Any, **kwargs: Any) -> Any:
        return target(*bound_args, *args, **{**bound_kwargs, **kwargs})

    call: Any = on_nothing
    if callee.receiver:
        call = on_module if callee.kind == "module" else on_object
    entry = types.MethodType(call, callee.receiver[0]) if callee.receiver else call
    return Callee(entry, call, "partial", callee.name, callee.receiver)


_NO_FUNCTION = (
    (
        inspect.isgeneratorfunction,
        "a generator function: its body runs during iteration, so the call has nothing to "
        "capture. Compile a function that returns a list or a tuple of its values",
    ),
    (
        inspect.iscoroutinefunction,
        "a coroutine function: its body runs when awaited, so the call has nothing to capture. "
        "Compile a plain function, and call that from the coroutine",
    ),
    (
        inspect.isasyncgenfunction,
        "an asynchronous generator: the call has nothing to capture. Compile a plain function, "
        "and call that from it",
    ),
)


def check_function(function: Any, name: str) -> None:
    """Raise `UsageError` for a function whose body does not run when it is called."""
    for is_such, words in _NO_FUNCTION:
        if is_such(function):
            raise UsageError(f"{name} is {words}.")


def check_inputs(bound: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an input tensor that has no plain memory."""
    for name, value in bound.items():
        if isinstance(value, torch.nn.Module):
            continue
        for path, leaf in leaves(value, Path(name)):
            if isinstance(leaf, torch.Tensor) and (words := _why_not(leaf)):
                raise UsageError(f"{path} is {words}.")


def _why_not(tensor: torch.Tensor) -> str | None:
    if tensor.is_nested:
        return (
            "a nested tensor: a compiled call cannot check the sizes of its parts. Pass its "
            "values() and offsets() as tensors, and create the nested tensor inside"
        )
    if tensor.layout is not torch.strided:
        kind = str(tensor.layout).rpartition(".")[2].strip("_")
        return (
            f"a {kind} tensor: only dense tensors can be captured. Pass .to_dense(), or its "
            "indices and values as separate tensors"
        )
    if tensor.is_quantized:
        return (
            "a legacy quantized tensor: it cannot be captured. Pass .dequantize(), or its "
            "int_repr() with scale and zero point"
        )
    return None
