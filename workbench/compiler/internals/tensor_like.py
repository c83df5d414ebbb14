"""A tensor without its data: how it lies in its storage, what else of it matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp

PLAIN = (torch.Tensor, torch.nn.Parameter)  # a buffer is a tensor with marks
_MARKS = "_dynamo_"  # attributes that torch's mark_dynamic and its relatives leave on a tensor
_SIMPLE = (bool, int, float, str, type(None), set, frozenset, tuple, dict)


@dataclass(frozen=True)
class TensorLike:
    """Sizes, strides and offset in elements; `marks` are attributes, as those of mark_dynamic.

    `kind` is the name of its class.
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: str = "cpu"
    offset: int = 0
    requires_grad: bool = False
    kind: str = "Tensor"
    marks: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, value: torch.Tensor) -> TensorLike:
        """The description of a tensor; one that is not strided has no strides."""
        is_strided = value.layout == torch.strided
        is_plain = type(value) in PLAIN
        return cls(
            shape=tuple(int(size) for size in value.shape),
            stride=tuple(int(step) for step in value.stride()) if is_strided else (),
            dtype=value.dtype,
            device=str(value.device),
            offset=int(value.storage_offset()) if is_strided else 0,
            requires_grad=value.requires_grad,
            kind="Parameter" if isinstance(value, torch.nn.Parameter) else type(value).__name__,
            marks={
                name: mark
                for name, mark in vars(value).items()
                if name.startswith(_MARKS) or (is_plain and isinstance(mark, _SIMPLE))
            },
        )

    @classmethod
    def named(
        cls, shape: tuple[int, ...], stride: tuple[int, ...], dtype: str, device: str = "cpu"
    ) -> TensorLike:
        """One whose dtype is a name, such as "float32"."""
        return cls(shape, stride, getattr(torch, dtype), device)

    @property
    def span(self) -> int:
        """Bytes from its first element to its last."""
        last = sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True))
        return 0 if 0 in self.shape else (last + 1) * self.dtype.itemsize

    def empty(self, device: str | torch.device | None = None) -> torch.Tensor:
        """Memory for it, whose content is not defined; where it was, or on another device."""
        return torch.empty_strided(
            self.shape, self.stride, dtype=self.dtype, device=device or self.device
        )

    def view(self, storage: torch.UntypedStorage) -> torch.Tensor:
        """It in a storage that holds its data."""
        value = torch.empty(0, dtype=self.dtype, device=storage.device)
        return value.set_(storage, self.offset, self.shape, self.stride)

    def dressed(self, value: torch.Tensor) -> torch.Tensor:
        """A tensor with its layout as one of its kind, with gradient and marks."""
        if self.kind == "Parameter":
            value = torch.nn.Parameter(value, requires_grad=self.requires_grad)
        elif self.requires_grad:
            value.requires_grad_()
        for name, mark in self.marks.items():
            setattr(value, name, mark)
        return value


class TensorCheck:
    """What the code was compiled for of a tensor that is no input: all but its numbers."""

    kind = "tensor"

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = list(rows)

    @classmethod
    def of(cls, value: torch.Tensor) -> TensorCheck | None:
        """What is asked of a tensor; None where it has no sizes and strides that are numbers."""
        rows = _rows_of(value)
        return None if rows is None else cls(rows)

    def is_of(self, value: Any) -> bool:
        """Whether a value is such a tensor."""
        return isinstance(value, torch.Tensor) and _rows_of(value) == self.rows

    def on(self, device: str) -> TensorCheck:
        """The same of a tensor on another device."""
        dtype, _, *rest = self.rows
        return TensorCheck([dtype, device, *rest])

    def __repr__(self) -> str:
        dtype, device, requires_grad, shape, stride = self.rows
        grad = ", which requires grad" if requires_grad else ""
        return f"a tensor, {dtype}{shape} with strides {stride} on {device}{grad}"


def _rows_of(value: torch.Tensor) -> list[Any] | None:
    # a nested tensor has no sizes: asking for them may end the process
    if value.is_nested or value.layout is not torch.strided:
        return None
    shape, stride = [*value.shape], [*value.stride()]
    if not all(type(size) is int for size in (*shape, *stride)):
        return None
    dtype = str(value.dtype).removeprefix("torch.")
    return [dtype, str(value.device), value.requires_grad, shape, stride]


def list_tensor_leaves(value: Any) -> list[torch.Tensor]:
    """The tensors in nested values of a graph, in their order: what torch itself flattens."""
    return [leaf for leaf in tp.TREE_LEAVES.get()(value) if isinstance(leaf, torch.Tensor)]
