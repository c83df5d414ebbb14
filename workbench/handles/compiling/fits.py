"""Whether a model fits into a GPU: compiles it at two depths, without weights, and counts."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch.nn.utils.parametrize import type_before_parametrizations

from workbench.analysis.forecast.forecast import find_forecast
from workbench.analysis.layers.fit import AXES, MISSING, MISSING_OF_STEP, Depth, Fit, read_depth
from workbench.analysis.layers.optimizers import name_optimizer, state_bytes
from workbench.analysis.memory.memory import Memory, memory
from workbench.arguments import shown
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.process_groups.cluster import refuse_shards
from workbench.compiler.request.compile_request import CompileRequest, list_known_gpus
from workbench.compiler.request.composition import choose_options
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError
from workbench.handles.compiling.dispatch import compile_for_target
from workbench.number_text import number_text, plural
from workbench.tasks.progress_events import ProgressCallback, step, tell_count

_BENT = (
    "not linear: the line through {} and {} layers has {:+.1%} error at {}, so the last two depths "
    "are used"
)
_NO_LOSS = (
    "The forward pass of {} does not return a loss (a single number), but a training step needs "
    "one. Wrap the model in a module that returns the loss, such as cross_entropy(model(x), y), or "
    "pass grad=False."
)
_ON_THE_LINE = 0.005
_SCALAR = 16  # bytes of a number of the largest type


@dataclass(frozen=True)
class FitRequest:
    """Arguments of `fits`."""

    model: torch.nn.Module | Callable[[int], torch.nn.Module]
    args: tuple[Any, ...] | Callable[[int], tuple[Any, ...]]
    kwargs: Mapping[str, Any] | Callable[[int], Mapping[str, Any]]
    target: str
    grad: bool
    optimizer: str | float | None
    moments: str
    layers: tuple[int, ...]
    total: int | None
    capacity: int | None
    progress: ProgressCallback | None = None

    def inputs(self, layers: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the example inputs of a model with this number of layers."""
        args = self.args(layers) if callable(self.args) else self.args
        kwargs = self.kwargs(layers) if callable(self.kwargs) else self.kwargs
        if not isinstance(args, tuple | list) or not isinstance(kwargs, Mapping):
            raise UsageError(
                "If args= is a function, it must return a tuple for a given number of layers, and "
                f"if kwargs= is one, a dict: got {type(args).__name__} and {type(kwargs).__name__}."
            )
        return tuple(args), dict(kwargs)


def fit_model(request: FitRequest) -> Fit:
    """See `workbench.fits`."""
    capacity, gpu = _capacity(request)
    make, total = _models(request)
    depths = sorted({min(count, total) for count in request.layers}) if request.layers else [total]
    shape = call_shape(*request.inputs(depths[0]))
    training = request.grad
    compiled = _Depths(request, make, tuple(depths))
    fit = Fit(
        name=type(make(depths[0])).__name__,
        gpu=gpu,
        capacity=capacity,
        layers=total,
        is_training=training,
        optimizer=name_optimizer(request.optimizer, request.moments),
        shape=shape,
        depths=tuple(compiled(count) for count in depths),
        missing=MISSING_OF_STEP if training else MISSING,
        doubled=cache(lambda what: (compiled(depths[0], AXES[what]),)),
    )
    if len(depths) == 1 or depths[-1] >= total or not fit.has_growing_temporaries:
        return fit
    return _compared(fit, compiled)


def _compared(fit: Fit, compiled: _Depths) -> Fit:
    """The line through two depths where a third, as far again, is on it; else that through these.

    A shallow program may place its buffers otherwise. The steps are equal, since some programs do
    so in every second layer.
    """
    first, last = fit.depths[0], fit.depths[-1]
    third = compiled(min(2 * last.layers - first.layers, fit.layers))
    predicted = replace(fit, layers=third.layers).peak
    counted = replace(fit, layers=third.layers, depths=(third,)).peak
    off = predicted / counted - 1
    if abs(off) <= _ON_THE_LINE:
        return fit
    bent = _BENT.format(first.layers, last.layers, off, third.layers)
    return replace(
        fit,
        depths=(last, third),
        missing=f"{fit.missing}; {bent}",
        doubled=cache(lambda what: (compiled(last.layers, AXES[what]),)),
    )


@dataclass(frozen=True)
class _Depths:
    request: FitRequest
    make: Callable[[int], torch.nn.Module]
    planned: tuple[int, ...]

    def __call__(self, layers: int, axis: int | None = None) -> Depth:
        """Compile one depth and count, with twice the size of a dimension of the inputs."""
        request, started = self.request, time.perf_counter()
        inputs = request.inputs(layers)
        args, kwargs = copy_without_data(inputs, axis, call_shape(*inputs))
        model = self.make(layers)
        state = 0
        if request.grad:
            learned = [tuple(p.shape) for p in model.parameters() if p.requires_grad]
            state = state_bytes(learned, request.optimizer, request.moments)
            if layers == self.planned[0] and axis is None:
                _refuse_no_loss(self.make(layers), args, kwargs)
        options = choose_options(model, grad=request.grad, target=request.target, guards="portable")
        with step(request.progress, f"compiling {plural(layers, 'layer')}"):
            if axis is None and layers in self.planned:
                done = self.planned.index(layers)
                tell_count(request.progress, done, len(self.planned), "depth")
            compiled = compile_for_target(
                CompileRequest.of(model, args, kwargs, options), request.progress
            )
        counted = memory(compiled.report)
        if request.grad:
            _check_loss(counted)
        forecast = find_forecast(compiled.report)
        call_us = (
            None if forecast is None else (forecast.call_us, forecast.least_us, forecast.most_us)
        )
        return read_depth(counted, layers, state, time.perf_counter() - started, call_us)


def _built(make: Callable[[int], torch.nn.Module], count: int) -> torch.nn.Module:
    model = make(count)
    if not isinstance(model, torch.nn.Module):
        raise UsageError(
            f"The function for model= returned {shown(model)} for {plural(count, 'layer')}: "
            "expected a torch.nn.Module."
        )
    return model


def _models(request: FitRequest) -> tuple[Callable[[int], torch.nn.Module], int]:
    """What makes the model of a depth, and how many layers the whole has."""
    model, total = request.model, request.total
    if not isinstance(model, torch.nn.Module):
        if total is None:
            raise UsageError(
                "fits needs total= if model= is a function: the number of layers of the full "
                "model, such as total=32."
            )
        return lambda count: copy_without_weights(_built(model, count)), total
    name = layer_list(model)
    if name is None:
        if total is not None:
            raise UsageError(
                f"{type(model).__name__} has no list of identical layers for total={total}. Leave "
                "total out, or pass a function that creates a model with any number of layers."
            )
        return lambda _: copy_without_weights(model), 1
    there = len(model.get_submodule(name))  # type: ignore[arg-type]
    if total is not None and max(request.layers, default=total) > there:
        raise UsageError(
            f"{name} of this {type(model).__name__} has {plural(there, 'layer')}, fewer than "
            f"layers={request.layers}. Pass depths up to {there}."
        )
    return lambda count: copy_with_layers(model, name, count), total or there


def _capacity(request: FitRequest) -> tuple[int, str]:
    if request.target in TARGETS:
        raise UsageError(
            f"The memory capacity of target={request.target!r} is unknown. Pass a GPU from "
            "targets(), such as 'h100'; this machine needs no GPU."
        )
    gpu = list_known_gpus()[request.target]
    if request.capacity is None:
        return gpu.dram_bytes, gpu.title
    return request.capacity, f"{number_text(request.capacity, 'bytes')} of {gpu.title}"


def _check_loss(counted: Memory) -> None:
    """A step is a forward that gives one number, and its backward."""
    tangents = [row.bytes for row in counted.allocations if row.kind == "tangent"]
    if not any(size <= _SCALAR for size in tangents):
        raise UsageError(_NO_LOSS.format(counted.report.request.name))


def _refuse_no_loss(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The same before anything is compiled, where the forward runs without data."""
    try:
        with torch.random.fork_rng(devices=[]):
            output = model(*args, **kwargs)
    except Exception:  # what has no kernel for sizes alone is left to the compiler
        return
    outputs = [leaf for _, leaf in leaves(output, Path("out")) if isinstance(leaf, torch.Tensor)]
    if outputs and not any(leaf.nbytes <= _SCALAR for leaf in outputs):
        raise UsageError(_NO_LOSS.format(type(model).__name__))


def layer_list(model: torch.nn.Module) -> str | None:
    """Return the name of the longest list of identical layers, or None if no list has two.

    Layers are identical if their classes and named tensors match. A list inside another list, such
    as the experts of a layer, belongs to the outer list's layers.
    """
    lengths: dict[str, int] = {}
    for name, part in model.named_modules():
        if (
            isinstance(part, torch.nn.ModuleList | torch.nn.Sequential)
            and len(part) > 1
            and not any(name.startswith(f"{outer}." if outer else "") for outer in lengths)
            and len({_describe_layer(layer) for layer in part}) == 1
        ):
            lengths[name] = len(part)
    return max(lengths, key=lengths.__getitem__, default=None)


def _describe_layer(layer: torch.nn.Module) -> frozenset[tuple[Any, ...]]:
    """What layers of a list have alike where one stands for all of them."""
    # a parametrised module has a class of its own, which no other one has
    kinds = {(name, type_before_parametrizations(part)) for name, part in layer.named_modules()}
    tensors = (*layer.named_parameters(), *layer.named_buffers())
    return frozenset(kinds | {(name, tuple(t.shape), t.dtype) for name, t in tensors})


@contextmanager
def cut_layers(
    module: torch.nn.Module | None, name: str, layers: int | None
) -> Iterator[tuple[int, int]]:
    """Temporarily reduce a model's list of identical layers to `layers`.

    Yields the reduced and the full number of layers.
    """
    if layers is None:
        yield 1, 1
        return
    where = None if module is None else layer_list(module)
    if module is None or where is None:
        raise UsageError(
            f"{name} has no list of identical layers (one class, equal parameter sizes) to cut to "
            f"{layers}. Pass layers=None to compile the full model."
        )
    module_list: Any = module.get_submodule(where)
    whole = dict(module_list._modules)
    del module_list[layers:]
    try:
        yield len(module_list), len(whole)
    finally:  # build may return the same model again
        module_list._modules.clear()
        module_list._modules.update(whole)


def copy_without_weights(model: torch.nn.Module) -> torch.nn.Module:
    """Copy a module to the meta device, which keeps sizes but allocates no memory.

    Raises `UsageError` for FSDP modules, which torch cannot copy.
    """
    refuse_shards(type(model).__name__, model)
    memo: dict[int, Any] = {}
    for parameter in model.parameters():
        twin = torch.nn.Parameter(
            torch.empty_like(parameter, device="meta"), requires_grad=parameter.requires_grad
        )
        memo[id(parameter)] = twin
    for buffer in model.buffers():
        memo[id(buffer)] = torch.empty_like(buffer, device="meta")
    return copy.deepcopy(model, memo)


def copy_with_layers(model: torch.nn.Module, name: str, count: int) -> torch.nn.Module:
    """Copy a module without weights, keeping only the first layers of the list `name`."""
    cut = copy_without_weights(model)
    module_list: Any = cut.get_submodule(name)
    del module_list[count:]
    return cut


def copy_without_data(value: Any, axis: int | None, shape: tuple[int, ...]) -> Any:
    """Copy inputs to the meta device, doubling dimension `axis` if its size matches `shape`."""

    def changed(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        sizes = list(leaf.shape)
        if axis is not None and axis < len(sizes) and sizes[axis] == shape[axis]:
            sizes[axis] *= 2
        empty = torch.empty(sizes, dtype=leaf.dtype, device="meta")
        return empty.requires_grad_(leaf.requires_grad)

    return tp.TREE_MAP.get()(changed, value)


def call_shape(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the shape of the first tensor in a call, or raise `UsageError` if there is none."""
    for _, leaf in leaves((args, dict(kwargs)), Path("call")):
        if isinstance(leaf, torch.Tensor) and leaf.ndim:
            return tuple(leaf.shape)
    raise UsageError(
        "fits needs example inputs with a tensor that has a batch dimension, such as "
        'args=(torch.zeros(1, 2048, dtype=torch.long, device="meta"),).'
    )
