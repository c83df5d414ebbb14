"""How tensors that code has captured are written into a payload, and read from it.

Files name this module, so it stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp

_OWN = (torch.Tensor, torch.nn.Parameter)
_READ_BY_TORCH = frozenset(
    (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.bool, torch.uint8),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.complex128, torch.complex64),
    )
)


class CapturedTensors:
    """Writes tensors that share memory so that they share it again, and those of newer dtypes.

    torch writes the memory of each tensor anew: code that changes one of two would not change the
    other. And what it writes of float8, uint16 and others it does not read (torch 2.13,
    AttributeError: UntypedStorage has no attribute `dtype`). All else is written as torch does.

    `shared` are the storages that several tensors were met in: what was written before the second
    was met has to be written again.
    """

    def __init__(self) -> None:
        self.shared: set[int] = set()
        self._met: dict[int, torch.Tensor] = {}
        self._memory: dict[int, _Memory] = {}

    def build_reducer(self, inner: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """What torch's pickler of payloads asks about every object."""

        def reducer_override(pickler: Any, value: Any) -> Any:
            if type(value) in _OWN and _is_plain(value):
                place = tp.storage_of(value)
                if self._met.setdefault(place, value) is not value:
                    self.shared.add(place)
                if place in self.shared or value.dtype not in _READ_BY_TORCH:
                    return self._reduce(value, place)
            return inner(pickler, value)

        return reducer_override

    def _reduce(self, tensor: torch.Tensor, place: int) -> Any:
        memory = self._memory.setdefault(place, _Memory(tensor.untyped_storage()))
        layout = tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
        kind = type(tensor) is torch.nn.Parameter, tensor.requires_grad
        return rebuild_tensor, (memory, tensor.dtype, *layout, *kind, dict(vars(tensor)))


def _is_plain(tensor: torch.Tensor) -> bool:
    is_view = tensor.is_conj() or tensor.is_neg()  # lazily: its numbers are not those in memory
    is_dense = tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_meta
    return is_dense and not is_view and tensor.grad_fn is None


class _Memory:
    """A storage, which pickle writes once however many tensors lie in it."""

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self._storage = storage

    def __reduce__(self) -> Any:
        device = self._storage.device
        held = torch.empty(0, dtype=torch.uint8, device=device).set_(self._storage)
        return read_memory, (held.cpu().numpy().tobytes(), str(device))


def read_memory(content: bytes, device: str) -> torch.UntypedStorage:
    """The storage that was written."""
    own = bytearray(content) or bytearray(1)  # torch makes no tensor of nothing
    held = torch.frombuffer(own, dtype=torch.uint8)[: len(content)]
    return held.clone().to(device).untyped_storage()


def rebuild_tensor(
    memory: torch.UntypedStorage,
    dtype: torch.dtype,
    offset: int,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    is_parameter: bool,
    requires_grad: bool,
    attributes: Mapping[str, Any],
) -> torch.Tensor:
    """The tensor that was written; `attributes` are those that a program gave it."""
    plain = torch.empty(0, dtype=dtype, device=memory.device).set_(memory, offset, shape, stride)
    if is_parameter:
        tensor: torch.Tensor = torch.nn.Parameter(plain, requires_grad=requires_grad)
    else:
        tensor = plain.requires_grad_(requires_grad)
    vars(tensor).update(attributes)
    return tensor
