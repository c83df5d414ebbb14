"""A serialized function made callable in this process, on the live objects of the user."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from workbench.compiler.aot_files.deserialize import deserialize
from workbench.compiler.aot_files.payload import Serialized, classes_in_main
from workbench.compiler.contract.callables import Callee
from workbench.compiler.contract.specialized_values import resolve
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.graph_parts import GraphParts
from workbench.errors import ContractError, UsageError


def callable_here(
    serialized: Serialized, contract: Mapping[str, Any], callee: Callee, parts: GraphParts
) -> Callable[..., Any]:
    """The function that was compiled, with `parts` in place of its compiled graphs.

    Its guards are not checked: they are about a device that is not here.
    """
    function = callee.function
    scope = dict(function.__globals__)
    imported = {name: resolve(place) for name, place in contract.get("imports", {}).items()}
    known = {**scope, **callee.closure, **imported}
    lost = [name for name in serialized.external_data if name not in known]
    if lost:
        raise UsageError(
            f"{callee.name} reaches {', '.join(lost)} in a way that its program cannot be given "
            "here. Pass it as an argument, or verify with target='host'."
        )
    outside = {name: known[name] for name in serialized.external_data}
    owner = callee.receiver[0] if callee.receiver else None
    with classes_in_main(owner, scope):
        loaded = deserialize(
            serialized.payload,
            parts,
            aliases=serialized.aliases,
            external_data=outside,
            f_globals=scope,
        )
    callee.share_closure(loaded)
    _without_streams(loaded.fn.__globals__)
    receiver = callee.receiver

    def call(*args: Any, **kwargs: Any) -> Any:
        return loaded.fn(*receiver, *args, **kwargs)

    return call


def refuse_misfit(callee: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise `ContractError` for a call that the function's parameters do not take."""
    signature = inspect.signature(callee.function, follow_wrapped=False)
    try:
        signature.bind(*callee.receiver, *args, **kwargs)
    except TypeError as error:
        raise ContractError(
            f"{callee.name}() {error}. The signature is {callee.name}{signature}."
        ) from None


class _NoStream:
    """Stands for the stream of the device, which the bytecode keeps a weak reference to."""


class _WithoutStreams:
    """Stands for torch's module in the bytecode, which asks for the stream of the device."""

    def __init__(self, module: Any):
        self._module = module
        self._stream = _NoStream()

    def get_current_stream(self, device: Any) -> _NoStream:
        """One that nothing runs on."""
        return self._stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _without_streams(scope: dict[str, Any]) -> None:
    module = tp.DYNAMO_UTILS.get()
    for name in [name for name, value in scope.items() if value is module]:
        scope[name] = _WithoutStreams(module)


def tensors_of(module: Any) -> Iterator[torch.Tensor]:
    """The parameters and buffers of a module; nothing for a function."""
    if isinstance(module, torch.nn.Module):
        yield from module.parameters()
        yield from module.buffers()


@contextlib.contextmanager
def grad_mode(contract: Mapping[str, Any]) -> Iterator[None]:
    """Gradients as the compiled function sets them for itself."""
    with torch.no_grad() if contract.get("enters_no_grad") else contextlib.nullcontext():
        yield
