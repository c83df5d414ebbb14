"""A model with fewer of its layers, without weights, and its inputs at another size."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch

from workbench.compiler.contract.paths import Path, leaves
from workbench.compiler.internals import torch_private as tp
from workbench.errors import UsageError


def layer_list(model: torch.nn.Module) -> str | None:
    """The name of the longest list of equal layers; None where no list has two."""
    found = {
        name: len(part)
        for name, part in model.named_modules()
        if isinstance(part, torch.nn.ModuleList | torch.nn.Sequential)
        and len(part) > 1
        and len({type(layer) for layer in part}) == 1
    }
    return max(found, key=found.__getitem__, default=None)


def without_weights(model: torch.nn.Module) -> torch.nn.Module:
    """A copy whose tensors are on the meta device: it has sizes and no memory."""
    memo: dict[int, Any] = {}
    for parameter in model.parameters():
        twin = torch.nn.Parameter(
            torch.empty_like(parameter, device="meta"), requires_grad=parameter.requires_grad
        )
        memo[id(parameter)] = twin
    for buffer in model.buffers():
        memo[id(buffer)] = torch.empty_like(buffer, device="meta")
    return copy.deepcopy(model, memo)


def with_layers(model: torch.nn.Module, name: str, count: int) -> torch.nn.Module:
    """A copy without weights that has the first layers of the list `name` only."""
    cut = without_weights(model)
    kept: Any = cut.get_submodule(name)
    del kept[count:]
    return cut


def inputs_without_data(value: Any, axis: int | None, shape: tuple[int, ...]) -> Any:
    """Inputs on the meta device; a dimension `axis` of the size that `shape` has there doubled."""

    def changed(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        sizes = list(leaf.shape)
        if axis is not None and axis < len(sizes) and sizes[axis] == shape[axis]:
            sizes[axis] *= 2
        made = torch.empty(sizes, dtype=leaf.dtype, device="meta")
        return made.requires_grad_(leaf.requires_grad)

    return tp.TREE_MAP.get()(changed, value)


def call_shape(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of the first tensor of a call; raises `UsageError` where there is none."""
    for _, leaf in leaves((args, dict(kwargs)), Path("call")):
        if isinstance(leaf, torch.Tensor) and leaf.ndim:
            return tuple(leaf.shape)
    raise UsageError(
        "fits needs example inputs with a tensor that has a batch, such as "
        'args=(torch.zeros(1, 2048, dtype=torch.long, device="meta"),).'
    )
