"""The memory of whole models of `fully_shard`: counted by hand, and beside torch's own hooks."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.distributed._composable.replicate_with_fsdp import replicate
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Shard
from torch.utils._python_dispatch import TorchDispatchMode

import workbench as wb
from tests.handles.test_sharded_module import (
    HALF,
    Block,
    Loss,
    Model,
    shard,
    shard_as_torchtitan,
    shard_norms,
)

TOKENS = torch.zeros(1, 2, dtype=torch.long)
WIDTH = 256


class LiveStorages(TorchDispatchMode):
    """The most bytes of storages that live at once, after each operator."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        super().__init__()
        self.known: dict[int, weakref.ref[Any]] = {}
        self.peak = 0
        for tensor in tensors:
            self.note(tensor)

    def note(self, tensor: torch.Tensor) -> None:
        storage = getattr(tensor, "_local_tensor", tensor).untyped_storage()
        if storage._cdata not in self.known:
            self.known[storage._cdata] = weakref.ref(storage)
            weakref.finalize(storage, self.known.pop, storage._cdata, None)

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = operator(*args, **(kwargs or {}))
        for leaf in torch.utils._pytree.tree_leaves((args, kwargs, made)):
            if isinstance(leaf, torch.Tensor):
                self.note(leaf)
        live = [storage() for storage in list(self.known.values())]
        self.peak = max(self.peak, sum(s.nbytes() for s in live if s is not None))
        return made


def measure_peaks(model: torch.nn.Module, *, grad: bool = True) -> tuple[int, int]:
    """What torch's hooks hold at most in the forward and in a step, in eager on the CPU."""
    gc.collect()
    with LiveStorages([TOKENS, *model.parameters(), *model.buffers()]) as live:
        with torch.set_grad_enabled(grad):
            loss = model(TOKENS)
        forward = live.peak
        if grad:
            loss.sum().backward()
    return forward, live.peak


def shard_along_second(mesh: Any) -> Any:
    def place(parameter: torch.nn.Parameter) -> Shard | None:
        return Shard(1) if parameter.ndim == 2 else None

    model = Model(WIDTH)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, shard_placement_fn=place)
    return fully_shard(model, mesh=mesh)


def shard_replicas(mesh: Any) -> Any:
    model = Model(WIDTH)
    for layer in model.layers:
        replicate(layer, mesh=mesh, mp_policy=HALF)
    return replicate(model, mesh=mesh, mp_policy=HALF)


def shard_ahead(mesh: Any) -> Any:
    model = shard(mesh, Model(WIDTH))
    first, second, third = model.layers
    model.set_modules_to_forward_prefetch([first, second])
    third.set_modules_to_backward_prefetch([second, first])
    return model


def shard_accumulating(mesh: Any) -> Any:
    model = shard(mesh, Model(WIDTH), mp_policy=HALF)
    model.set_requires_gradient_sync(False)
    return model


def shard_frozen(mesh: Any) -> Any:
    model = Model(WIDTH)
    for part in (model.table, model.layers[0], model.layers[1].up):
        part.requires_grad_(False)
    return shard(mesh, model)


CASES: list[Any] = [
    pytest.param(dims, make, marks=pytest.mark.slow if is_slow else (), id=name)
    for name, dims, make, is_slow in (
        ("plain", {"dp": 4}, lambda mesh: shard(mesh, Model(WIDTH)), False),
        ("mixed", {"dp": 4}, lambda mesh: shard(mesh, Model(WIDTH), mp_policy=HALF), False),
        ("hsdp", {"r": 2, "dp": 4}, lambda mesh: shard(mesh, Model(WIDTH), mp_policy=HALF), False),
        (
            "half",
            {"dp": 4},
            lambda mesh: shard(mesh, Model(WIDTH), mp_policy=MixedPrecisionPolicy(torch.bfloat16)),
            True,
        ),
        (
            "kept",
            {"dp": 4},
            lambda mesh: shard(mesh, Model(WIDTH), reshard_after_forward=False),
            True,
        ),
        (
            "parted",
            {"dp": 4},
            lambda mesh: shard(mesh, Model(WIDTH), reshard_after_forward=2, mp_policy=HALF),
            True,
        ),
        (
            "freed",
            {"dp": 4},
            lambda mesh: shard(mesh, Model(WIDTH), reshard_after_forward=True),
            True,
        ),
        ("second dimension", {"dp": 4}, shard_along_second, True),
        ("replicas", {"dp": 4}, shard_replicas, True),
        ("ahead", {"dp": 4}, shard_ahead, True),
        ("accumulating", {"dp": 4}, shard_accumulating, True),
        ("frozen", {"dp": 4}, shard_frozen, True),
        ("norms", {"dp": 4}, lambda mesh: shard_norms(mesh, WIDTH), True),
        ("torchtitan", {"dp": 4}, lambda mesh: shard_as_torchtitan(mesh, WIDTH), True),
        ("one", {"dp": 1}, lambda mesh: shard(mesh, Model(WIDTH), mp_policy=HALF), True),
    )
]


@pytest.mark.parametrize(("dims", "make"), CASES)
def test_the_peak_is_what_torchs_hooks_hold(
    dims: dict[str, int], make: Callable[[Any], torch.nn.Module]
) -> None:
    """With two tokens nearly all bytes are of parameters, gradients and the buffers of hooks."""
    with wb.virtual_cluster(dims) as mesh:
        model = Loss(make(mesh))
        compiled = wb.aot_compile(model, (TOKENS,), target="h100")
        forward, step = measure_peaks(model)
    peaks = {row.scope: row.bytes for row in wb.memory(compiled).peaks}
    print(forward, step, peaks, peaks["forward"]/forward-1, peaks["step"]/step-1)
    assert peaks["forward"] == pytest.approx(forward, rel=0.01)
    assert peaks["step"] == pytest.approx(step, rel=0.01)
