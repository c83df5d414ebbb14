"""Tensors made from a description, without the memory that their shape would take."""

from __future__ import annotations

import contextlib
import mmap
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from workbench.compiler.contract.contract import Leaf
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.errors import UsageError
from workbench.number_text import number_text

DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"),
    *("bool", "complex64", "complex128"),
)
_NO_RESERVE = 0x4000  # MAP_NORESERVE of Linux: addresses without memory behind them
_LARGEST = 1 << 42  # bytes; of addresses, nothing is allocated
_LARGEST_ELSEWHERE = 1 << 28  # bytes; a GPU has no addresses without memory


@dataclass(frozen=True)
class Description:
    """One tensor of a call as it can be edited; `path` such as `L['x']`; sizes in elements."""

    path: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    device: str

    @property
    def like(self) -> TensorLike:
        """The tensor without its data."""
        return TensorLike.named(self.shape, self.stride, self.dtype, self.device)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {**asdict(self), "shape": list(self.shape), "stride": list(self.stride)}

    @classmethod
    def read(cls, data: Any, known: Description) -> Description:
        """Read an edited description; what it leaves out stays as it is in `known`.

        Raises `UsageError` for what no tensor can be.
        """
        shape = _sizes(data.get("shape", known.shape), f"the shape of {known.path}")
        stride = _sizes(data.get("stride", known.stride), f"the stride of {known.path}")
        if len(shape) != len(stride):
            raise UsageError(
                f"{known.path} has {len(shape)} sizes and {len(stride)} strides: give as many."
            )
        dtype = str(data.get("dtype", known.dtype)).removeprefix("torch.")
        if not isinstance(getattr(torch, dtype, None), torch.dtype):
            raise UsageError(f"{dtype!r} is no dtype: expected one of {', '.join(DTYPES)}.")
        return cls(known.path, shape, stride, dtype, str(data.get("device", known.device)))


def _sizes(values: Any, what: str) -> tuple[int, ...]:
    is_list = isinstance(values, list | tuple)
    if not is_list or not all(type(value) is int and value >= 0 for value in values):
        raise UsageError(f"{what} is {values!r}: expected a list of whole numbers from 0.")
    return tuple(values)


def tensor_like(leaf: Leaf, wanted: Description) -> torch.Tensor:
    """A tensor with the description's layout that is otherwise like the example's leaf.

    Its content is not defined. Raises `UsageError` where this machine cannot have such a tensor.
    """
    with torch.inference_mode() if leaf.inference else contextlib.nullcontext():
        value = tensor_of(wanted.like, wanted.path)
    wants = leaf.requires_grad and (value.is_floating_point() or value.is_complex())
    return replace(wanted.like, requires_grad=wants, kind=leaf.type).dressed(value)


def tensor_of(like: TensorLike, path: str) -> torch.Tensor:
    """A tensor with this layout; its content is not defined, that of a big one zero.

    Raises `UsageError`, naming the `path`, where this machine cannot have such a tensor.
    """
    is_cpu = like.device == "cpu"
    if like.span > (_LARGEST if is_cpu else _LARGEST_ELSEWHERE) and like.device != "meta":
        raise UsageError(
            f"{path} would span {number_text(like.span, 'bytes')}: too much to try here."
        )
    try:
        return _addressed(like) if is_cpu and like.span > mmap.PAGESIZE else like.empty()
    except (RuntimeError, AssertionError, OSError) as error:
        first = str(error).strip().split("\n")[0]
        raise UsageError(f"{path} cannot be made on {like.device}: {first}") from error


def _addressed(like: TensorLike) -> torch.Tensor:
    """A tensor over addresses that have no memory until they are touched."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    storage = torch.frombuffer(mmap.mmap(-1, like.span, flags=flags), dtype=torch.uint8)
    return replace(like, offset=0).view(storage.untyped_storage())
