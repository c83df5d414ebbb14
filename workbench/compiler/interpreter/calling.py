"""A serialized function made callable in this process, on the live objects of the user."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from workbench.compiler.aot_files.deserialize import Libraries, deserialize
from workbench.compiler.aot_files.payload import Serialized, classes_in_main
from workbench.compiler.contract.callables import Callee
from workbench.compiler.contract.specialized_values import resolve
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Overlay, Patches
from workbench.errors import ContractError, UsageError

GraphCall = Callable[[list[Any]], Any]
"""What is called with the inputs of a graph, as a list that it may empty."""


class GraphParts(Libraries):
    """Makes the graphs of a payload callable: `start(graph, is_backward)` gives what is called.

    Everything around the graphs stays torch's own: arguments, mutations, aliases, autograd. What is
    deserialized here is called, neither guarded nor saved.
    """

    def __init__(self, start: Callable[[Any, bool], GraphCall]):
        super().__init__({}, None, packed=True, guarded=False)
        self._start = start

    def starter(self, part: Any) -> Callable[[Any, Any], Any]:
        """What torch calls to make a compiled graph callable."""
        is_backward = hasattr(part, "backward_state_indices")

        def post_compile(graph: Any, fx_config: Any) -> Any:
            call = self._start(graph, is_backward)

            def run(inputs: list[Any]) -> Any:
                return call(inputs)

            run._boxed_call = True  # type: ignore[attr-defined]
            if is_backward:
                return tp.DISABLE.get()(run, reason="do not trace generated backwards pass")
            return run

        return post_compile


def constants_of(graph: Any) -> dict[str, Any]:
    """The constants that a generated program reads as its own globals, on the CPU."""
    found: dict[str, Any] = tp.GRAPH_CONSTANTS.get()().unwrap(graph)
    return {name: value.cpu() if hasattr(value, "cpu") else value for name, value in found.items()}


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
    return functools.partial(loaded.fn, *callee.receiver)


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


def _without_streams(scope: dict[str, Any]) -> None:
    """Replace torch's module in the bytecode, which asks it for the stream of the device."""
    module, stream = tp.DYNAMO_UTILS.get(), _NoStream()
    for name in [name for name, value in scope.items() if value is module]:
        scope[name] = Overlay(module, get_current_stream=lambda device: stream)


def tensors_of(module: Any) -> Iterator[torch.Tensor]:
    """The parameters and buffers of a module; nothing for a function."""
    if isinstance(module, torch.nn.Module):
        yield from module.parameters()
        yield from module.buffers()


def grad_mode(contract: Mapping[str, Any]) -> contextlib.AbstractContextManager[None]:
    """Gradients as the compiled function sets them for itself."""
    return torch.no_grad() if contract.get("enters_no_grad") else contextlib.nullcontext()


@contextlib.contextmanager
def autocast_regions(contract: Mapping[str, Any]) -> Iterator[list[str]]:
    """The devices of the autocast around a function and in it, as they are met.

    On the CPU torch turns that of a GPU off, and that of the CPU would do nothing on the GPU.
    """
    compiled_for = (contract.get("state") or {}).get("autocast_state", {}).get("enabled", ())
    found = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
    if any(compiled_for) and not found:
        found.append("the compilation")

    def entered(_: object, region: Any) -> None:
        is_on = region.device != "cpu" or torch.is_autocast_enabled("cpu")
        if is_on and region.device not in found:
            found.append(region.device)

    with Patches() as patches:
        patches.observe(tp.AUTOCAST_ENTER, "autocast", after=entered)
        yield found
