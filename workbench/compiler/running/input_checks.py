"""The input contract of a package at a call: a quick test, and words for what does not fit.

The quick test is one expression over the leaves: one C++ call of torch's guards for types, dtypes,
devices, fixed sizes and strides, then the dynamic dimensions. What it does not accept is looked at
slowly, which finds what is wrong, or that the difference does not matter (a parameter in place of
a tensor, a gradient that nobody asks for, the stride of a dimension of size 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.contract.contract import (
    LAYOUT_CURE,
    Contract,
    Leaf,
    describe,
    differences,
    list_problems,
)
from workbench.compiler.internals.surroundings import find_recorders
from workbench.compiler.internals.tensor_kind import explain_kind
from workbench.compiler.sizes.dims import Dynamic
from workbench.errors import ContractError

if TYPE_CHECKING:  # imported for contracts that have such: a package starts in milliseconds
    from workbench.compiler.contract.shared_memory import SharedMemory
    from workbench.compiler.sizes.dims import Relation


@dataclass(frozen=True)
class CallContract:
    """What every leaf of a call to one model has to be, on one device."""

    model: str
    leaves: tuple[Leaf, ...]
    relations: tuple[Relation, ...]
    device: torch.device
    memory: SharedMemory | None = None

    @classmethod
    def of(cls, model: str, data: Mapping[str, Any], device: torch.device) -> CallContract:
        """Read the contract of a manifest; raises `ArtifactError`."""
        leaves = Contract.from_json({"receiver": None, "training": None, **data}).leaves or ()
        names = [
            size.name
            for leaf in leaves
            for size in leaf.shape
            if isinstance(size, Dynamic) and size.name is not None
        ]
        return cls(model, leaves, _relations(data, names), device, _shared_memory(data))

    @property
    def tensors(self) -> tuple[int, ...]:
        """The places of the leaves that the library takes."""
        return tuple(i for i, leaf in enumerate(self.leaves) if leaf.kind == "tensor")

    def examine(self, values: Sequence[Any]) -> list[Any]:
        """The leaves as the library can take them; raises `ContractError` naming each bad one."""
        dims: dict[str, tuple[int, str]] = {}
        problems: list[str] = list(find_recorders(self.model, values))
        for leaf, value in zip(self.leaves, values, strict=True):
            problems.extend(self._problems(leaf, value, dims))
        if not problems:
            sizes = {name: size for name, (size, _) in dims.items()}
            problems += [
                f"the dimensions {sizes} do not satisfy {relation.text}"
                for relation in self.relations
                if not relation.holds(sizes)
            ]
        if not problems and self.memory is not None:
            problems += self.memory.mismatches([values[place] for place in self.tensors])
        if problems:
            raise ContractError(
                f"{self.model} was called with inputs that do not fit what was compiled:\n"
                + list_problems(problems)
            )
        return [v.detach() if isinstance(v, torch.Tensor) else v for v in values]

    def _problems(self, leaf: Leaf, value: Any, dims: dict[str, tuple[int, str]]) -> Iterator[str]:
        actual = describe(leaf.path, value)
        if isinstance(value, torch.Tensor):
            kind = explain_kind(value)
            if kind:
                yield f"{leaf.path}: {kind}"
                return
            actual = replace(actual, type=leaf.type, requires_grad=leaf.requires_grad)
            actual = replace(actual, inference=leaf.inference, stride=leaf.stride)
        misfits = list(differences(leaf, actual, dims))
        yield from misfits
        if leaf.kind != "tensor" or not isinstance(value, torch.Tensor):
            return
        if value.requires_grad and torch.is_grad_enabled():
            yield (
                f"{leaf.path}: requires grad, and a package computes no gradients: pass "
                ".detach(), or call under torch.no_grad()"
            )
        has_index = self.device.index is not None and value.device.type == self.device.type
        if has_index and value.device != self.device:
            yield f"{leaf.path}: on {value.device}, the package was loaded on {self.device}"
        if not misfits and not match_layout(leaf, value):
            yield (
                f"{leaf.path}: expected {describe_layout(leaf)}, got stride "
                f"{list(value.stride())}: {LAYOUT_CURE}"
            )


def _relations(data: Mapping[str, Any], names: Sequence[str]) -> tuple[Relation, ...]:
    if not data.get("guards"):
        return ()
    from workbench.compiler.sizes.dims import read_relations

    return read_relations(data["guards"], names)


def _shared_memory(data: Mapping[str, Any]) -> SharedMemory | None:
    if not data.get("memory"):
        return None
    from workbench.compiler.contract.shared_memory import SharedMemory

    return SharedMemory.from_json(data["memory"])


# layout


def is_dynamic(leaf: Leaf) -> bool:
    """Whether a leaf has a dimension whose size is not fixed."""
    return any(isinstance(size, Dynamic) for size in leaf.shape)


def order_of(leaf: Leaf) -> tuple[int, ...] | None:
    """The dimensions from the outermost in memory to the innermost, or None with gaps between."""
    order = sorted(range(len(leaf.stride)), key=lambda i: (-leaf.stride[i], -leaf.sizes[i], i))
    expected = 1
    for index in reversed(order):
        if leaf.sizes[index] != 1 and leaf.stride[index] != expected:
            return None
        expected *= leaf.sizes[index]
    return tuple(order)


def laid_out(leaf: Leaf, value: torch.Tensor) -> torch.Tensor:
    """The same values in the memory order of the example, where that has no gaps."""
    order = order_of(leaf)
    if order is None or value.dim() != len(order):
        return value
    made = torch.empty_permuted(value.shape, order, dtype=value.dtype, device=value.device)
    return value if made.stride() == value.stride() else made.copy_(value)


def is_contiguous(leaf: Leaf) -> bool:
    """Whether the example was contiguous."""
    order = order_of(leaf)
    wide = None if order is None else [i for i in order if leaf.sizes[i] != 1]
    return wide is not None and wide == sorted(wide)


def match_layout(leaf: Leaf, value: torch.Tensor) -> bool:
    """Whether a tensor lies in memory as the example did; dimensions of size 1 lie anywhere."""
    if value.numel() == 0:
        return True
    if not is_dynamic(leaf):
        return _same_strides(leaf.stride, value)
    if is_contiguous(leaf):
        return value.is_contiguous()
    order = order_of(leaf)
    if order is not None:
        return value.permute(order).is_contiguous()
    return _same_strides(leaf.stride, value)


def _same_strides(wanted: Sequence[int], value: torch.Tensor) -> bool:
    return all(
        size == 1 or stride == given
        for size, stride, given in zip(value.shape, wanted, value.stride(), strict=True)
    )


def describe_layout(leaf: Leaf) -> str:
    """The layout as people say it."""
    if is_contiguous(leaf):
        return "a contiguous tensor"
    order = order_of(leaf)
    if is_dynamic(leaf) and order is not None:
        return f"memory in the order of dimensions {list(order)}"
    return f"stride {list(leaf.stride)}"
