"""What a rank holds of a model and of its inputs, and which ranks hold something else."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.internals.tensor_like import list_tensor_leaves
from workbench.worlds.clusters.rows import Shard

_PARAMETRIZED = re.compile(r"parametrizations\.(\w+)\.original\d*$")


@dataclass(frozen=True)
class Layout:
    """The sizes of a whole tensor, and which dimension of it each dimension of a mesh splits."""

    shape: tuple[int, ...]
    split: tuple[tuple[str, int], ...]

    def local_shape(self, sizes: Mapping[str, int], at: Mapping[str, int]) -> tuple[int, ...]:
        """What the rank at these coordinates holds, by torch's rule: equal parts, a rest last."""
        shape = list(self.shape)
        for name, dim in self.split:
            part = -(-shape[dim] // sizes[name])
            shape[dim] = max(0, min(part, shape[dim] - part * at[name]))
        return tuple(shape)


def list_shards(module: torch.nn.Module | None, args: Sequence[Any]) -> tuple[Shard, ...]:
    """Those of this rank: parameters, buffers, inputs."""
    named = _list_tensors(module, args)
    return tuple(
        Shard(
            name,
            tuple(_localize(tensor).shape),
            str(tensor.dtype).removeprefix("torch."),
            _localize(tensor).numel() * tensor.element_size(),
            isinstance(tensor, torch.nn.Parameter),
            tensor.requires_grad,
        )
        for name, tensor in named
    )


def list_layouts(module: torch.nn.Module | None, args: Sequence[Any]) -> frozenset[Layout]:
    """How tensors on a mesh are split, the same on every rank."""
    tensor_kind = _find_dtensor()
    if tensor_kind is None:
        return frozenset()
    tensors = [t for _, t in _list_tensors(module, args) if isinstance(t, tensor_kind)]
    return frozenset(
        Layout(
            tuple(tensor.shape),
            tuple(
                (name, placement.dim)
                for name, placement in zip(
                    tensor.device_mesh.mesh_dim_names or (), tensor.placements, strict=False
                )
                if placement.is_shard()
            ),
        )
        for tensor in tensors
    )


def find_uneven_ranks(sizes: Mapping[str, int], layouts: Iterable[Layout]) -> tuple[int, ...]:
    """The first rank of each set of shards that differ from those of all earlier ranks."""
    usable = [layout for layout in layouts if all(name in sizes for name, _ in layout.split)]
    first_ranks: dict[tuple[tuple[int, ...], ...], int] = {}
    for rank, at in enumerate(list_coordinates(sizes)):
        first_ranks.setdefault(tuple(layout.local_shape(sizes, at) for layout in usable), rank)
    return tuple(first_ranks.values())


def list_coordinates(sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Those of every rank, which are counted along the last dimension first."""
    for at in itertools.product(*map(range, sizes.values())):
        yield dict(zip(sizes, at, strict=True))


def _list_tensors(
    module: torch.nn.Module | None, args: Sequence[Any]
) -> Iterator[tuple[str, torch.Tensor]]:
    if module is not None:
        for name, tensor in itertools.chain(module.named_parameters(), module.named_buffers()):
            yield _PARAMETRIZED.sub(r"\1", name), tensor
    for place, arg in enumerate(args):
        leaves = list_tensor_leaves(arg)
        for number, leaf in enumerate(leaves):
            yield f"args[{place}]" + (f", tensor {number}" if leaves[1:] else ""), leaf


def _localize(tensor: torch.Tensor) -> torch.Tensor:
    kind = _find_dtensor()
    if kind is None or not isinstance(tensor, kind):
        return tensor
    with torch.no_grad():
        local: torch.Tensor = tensor.to_local()
        return local


def _find_dtensor() -> Any | None:
    """The class of tensors on a mesh; None where nobody has imported it, so that there are none."""
    return getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
