"""A serialized function made callable in this process, on the live objects of the user."""

from __future__ import annotations

import contextlib
import dis
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from workbench.compiler.aot_files.deserialize import Libraries, deserialize, place_classes_in_main
from workbench.compiler.aot_files.writing.serialized import Serialized
from workbench.compiler.call_plan.plan import CallPlan
from workbench.compiler.captured_code.specialized_values import resolve
from workbench.compiler.captured_graphs.program_parts import Program
from workbench.compiler.contract.contract import list_problems
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import lend_generators
from workbench.compiler.internals.patches import Overlay, ProcessPatches
from workbench.compiler.request.callables import Callee
from workbench.device_kinds import GPU
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


def list_constants(graph: Any) -> dict[str, Any]:
    """The constants that a generated program reads as its own globals, on the CPU."""
    named: dict[str, Any] = tp.GRAPH_CONSTANTS.get()().unwrap(graph)
    return {name: value.cpu() if hasattr(value, "cpu") else value for name, value in named.items()}


def make_callable_here(
    serialized: Serialized,
    contract: Mapping[str, Any],
    callee: Callee,
    parts: GraphParts,
    watch: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
) -> Callable[..., Any]:
    """The function that was compiled, with `parts` in place of its compiled graphs.

    Its guards are not checked: they are about a device that is not here. `watch` is given what
    takes the inputs of Dynamo's graph, and gives what is called in its place.
    """
    function = callee.function
    scope = dict(function.__globals__)
    imported = {name: resolve(place) for name, place in contract.get("imports", {}).items()}
    values = {**scope, **callee.closure, **imported}
    lost = [name for name in serialized.external_data if name not in values]
    if lost:
        raise UsageError(
            f"{callee.name} refers to {', '.join(lost)} in a way that cannot be reproduced for "
            "its program here. Pass it as an argument, or verify with target='host'."
        )
    outside = {name: values[name] for name in serialized.external_data}
    owner = callee.receiver[0] if callee.receiver else None
    with place_classes_in_main(owner, scope):
        loaded = deserialize(
            serialized.payload,
            parts,
            aliases=serialized.aliases,
            external_data=outside,
            f_globals=scope,
        )
    callee.share_closure(loaded)
    _without_streams(loaded.fn.__globals__)
    if watch is not None:
        name = tp.artifacts_of(loaded).backend_id
        loaded.fn.__globals__[name] = watch(loaded.fn.__globals__[name])
    return wrap_writing_back(loaded, callee)


def wrap_writing_back(loaded: Any, callee: Callee) -> Callable[..., Any]:
    """The loaded function, which leaves in the user's globals and cells what it sets.

    It has namespaces of its own, since torch puts names into them.
    """
    function, env = callee.function, tp.artifacts_of(loaded).runtime_env
    stored = [i.argval for i in dis.get_instructions(env.bytecode) if i.opname == "STORE_GLOBAL"]
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    own = dict(zip(env.bytecode.co_freevars, env.closure or (), strict=False))

    def call(*args: Any, **kwargs: Any) -> Any:
        with lend_generators():
            output = loaded.fn(*callee.receiver, *args, **kwargs)
        for name in stored:
            function.__globals__[name] = loaded.fn.__globals__[name]
        for name, cell in own.items():
            if name in cells and cells[name].cell_contents is not cell.cell_contents:
                cells[name].cell_contents = cell.cell_contents
        return output

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


def refuse_unfit(
    program: Program, callee: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """Raise `ContractError` for a call that the program was not compiled for.

    Inputs, specialized values, inlined code and the state of torch are compared as those of a call
    on the host are, but for the device: what is computed here is on the CPU.
    """
    data = dict(program.contract)
    leaves = [{**leaf, "device": "cpu"} for leaf in data["inputs"]["leaves"]]
    data["inputs"] = {**data["inputs"], "leaves": leaves}
    function = callee.function
    plan = CallPlan.from_json(
        data,
        program.specialized,
        receiver=callee.receiver[0] if callee.receiver else None,
        f_globals=function.__globals__,
    )
    signature = inspect.signature(function, follow_wrapped=False)
    bound = signature.bind(*callee.receiver, *args, **kwargs)
    bound.apply_defaults()
    names = frozenset(callee.closure)
    plan = replace(plan, closure=names, specialized=plan.specialized.on("cpu"))
    with grad_mode(program.contract):
        problems = plan.mismatches({**bound.arguments, **callee.closure})
    if problems:
        raise ContractError(
            f"This call does not fit what {callee.name} was compiled for:\n"
            + list_problems(problems)
            + "\nPass inputs that fit, or recompile for these."
        )


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


@dataclass
class Regions:
    """The devices of the autocast around a function and in it, as they are met; its dtype.

    `follows` says that a region in the function for the device of a tensor, here the CPU, is one
    for the GPU there; `left_out` are the dtypes of those that count for the CPU.
    """

    devices: list[str] = field(default_factory=list)
    dtype: torch.dtype | None = None
    follows: bool = False
    left_out: set[torch.dtype] = field(default_factory=set)

    def _meet(self, device: str, dtype: torch.dtype | None) -> None:
        if device not in self.devices:
            self.devices.append(device)
        self.dtype = self.dtype or dtype


@contextlib.contextmanager
def enter_device_autocast(regions: Regions) -> Iterator[None]:
    """Autocast as the GPU has it, as near as the CPU can: that of the GPU becomes that of the CPU.

    torch turns that of a GPU off where there is none; that of the CPU does nothing on a GPU.
    """
    own = torch.autocast.__init__

    def initialise(
        self: Any,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        on_gpu = device_type == GPU or regions.follows
        chosen = dtype or torch.get_autocast_dtype(GPU if on_gpu else device_type)
        if enabled:
            regions._meet(GPU if on_gpu else device_type, chosen if on_gpu else None)
            regions.left_out |= set() if on_gpu else {dtype or torch.get_autocast_dtype(GPU)}
        own(self, "cpu", chosen, enabled and on_gpu, cache_enabled)

    outside = torch.is_autocast_enabled(GPU), torch.get_autocast_dtype(GPU)
    if torch.is_autocast_enabled("cpu"):
        regions._meet("cpu", None)
    if outside[0]:
        regions._meet(GPU, outside[1])
    with ProcessPatches() as patches, torch.autocast("cpu", outside[1], enabled=outside[0]):
        patches.attribute(torch.autocast, "__init__", initialise)
        yield
