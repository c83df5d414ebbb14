"""Copies of a kernel's arguments, so far apart that a wrong address tells whose it was to be."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from workbench.compiler.interpreter.watched.access_log import Held
from workbench.compiler.kernels.kernel_call import name_tensors

Array = np.ndarray[Any, Any]
_GAPS = (1 << 40, 1 << 30, 1 << 22)  # bytes around an argument: of address space, then of memory
_PAGE = 4096


@dataclass(frozen=True)
class Part:
    """The copy of an argument, or of several that share elements.

    `inside` says which elements from `start` on belong to the view, None for all of them.
    """

    held: Held
    start: int
    end: int
    inside: Array | None


class Arena:
    """The arguments as a kernel is given them: `arguments` by name, their memory as `parts`.

    `fresh` names those whose content nobody wrote: they are filled with NaN, integers with a large
    number, so that what is computed from them is seen. Those on meta hold zeros, and no memory
    where nothing is written.
    """

    def __init__(self, arguments: Mapping[str, Any], fresh: tuple[str, ...] = ()):
        tensors = name_tensors(arguments)
        groups = _group(tensors)
        spans = [_measure_group([tensors[name] for name in group]) for group in groups]
        room, gap = self._map(sum(-(-span // _PAGE) * _PAGE for _, span in spans), len(groups))
        memory = torch.frombuffer(room, dtype=torch.uint8)
        self.memory, self.begin = memory.numpy(), memory.data_ptr()
        copies: dict[str, torch.Tensor] = {}
        self.parts: list[Part] = []
        at = gap
        for group, (first, span) in zip(groups, spans, strict=True):
            piece = memory[at : at + span]
            for name in group:
                tensor = tensors[name]
                offset = _address(tensor) - first
                whole = piece[offset:][: _measure(tensor)].view(tensor.dtype)
                copies[name] = torch.as_strided(whole, tensor.shape, tensor.stride())
                if tensor.is_meta:
                    continue
                drop_repeats(copies[name]).copy_(drop_repeats(tensor))
                if name in fresh:
                    drop_repeats(copies[name]).fill_(_pick_garbage(tensor.dtype))
            leader = tensors[group[0]]
            held = Held(
                tuple(group),
                str(leader.dtype).removeprefix("torch."),
                leader.element_size(),
                tuple(leader.shape),
                leader.stride(),
                span,
            )
            start = memory.data_ptr() + at
            inside = _find_inside([tensors[name] for name in group], first, span)
            self.parts.append(Part(held, start, start + span, inside))
            at += -(-span // _PAGE) * _PAGE + gap
        self.tensors = copies
        self.arguments = {
            name: _replace_tensors(name, value, copies) for name, value in arguments.items()
        }
        self.starts = np.array([part.start for part in self.parts], dtype=np.uint64)
        self.ends = np.array([part.end for part in self.parts], dtype=np.uint64)

    @staticmethod
    def _map(size: int, count: int) -> tuple[mmap.mmap, int]:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        for gap in _GAPS[:-1]:
            with suppress(OSError, ValueError):  # a limit on address space
                unreserved = flags | getattr(mmap, "MAP_NORESERVE", 0x4000)
                return mmap.mmap(-1, size + (count + 1) * gap, flags=unreserved), gap
        return mmap.mmap(-1, size + (count + 1) * _GAPS[-1], flags=flags), _GAPS[-1]

    def find_owner(self, address: int) -> tuple[Part, int] | None:
        """The argument an address lies in or nearest to, and how many bytes behind its first.

        None where it is so far from all of them that it cannot come from one, as that of a pointer
        which was loaded.
        """
        if not self.begin <= address < self.begin + len(self.memory):
            return None
        nearest = min(self.parts, key=lambda p: max(p.start - address, address - p.end + 1, 0))
        return nearest, address - nearest.start


def drop_repeats(tensor: torch.Tensor) -> torch.Tensor:
    """Without what `expand` repeats: torch writes to no element that has several places."""
    return tensor[tuple(slice(0, 1) if not step else slice(None) for step in tensor.stride())]


def _replace_tensors(name: str, value: Any, copies: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return copies[name]
    if type(value) is tuple:
        return tuple(_replace_tensors(f"{name}[{n}]", part, copies) for n, part in enumerate(value))
    if isinstance(getattr(value, "base", None), torch.Tensor):
        again: Callable[..., Any] = type(value)  # a TensorDescriptor
        return again(copies[name], value.shape, value.strides, value.block_shape, value.padding)
    return value


def _measure(tensor: torch.Tensor) -> int:
    """Bytes from the first element of a view to the end of its last."""
    if not tensor.numel():
        return 0
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()


def _address(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_meta else tensor.data_ptr()


def _measure_group(tensors: list[torch.Tensor]) -> tuple[int, int]:
    first = min(map(_address, tensors))
    return first, max(_address(tensor) + _measure(tensor) for tensor in tensors) - first


def _group(tensors: Mapping[str, torch.Tensor]) -> list[list[str]]:
    """The names of tensors that share elements together, those that only lie side by side apart."""
    groups: list[list[str]] = []
    for name, tensor in tensors.items():
        joined = [g for g in groups if any(_share(tensors[other], tensor) for other in g)]
        groups = [g for g in groups if g not in joined]
        groups.append([member for group in joined for member in group] + [name])
    return groups


def _share(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.is_meta or other.is_meta:
        return False
    first, span = _measure_group([one, other])
    if span >= _measure(one) + _measure(other):
        return False
    return bool((_find_bytes(one, first, span) & _find_bytes(other, first, span)).any())


def _find_bytes(tensor: torch.Tensor, first: int, span: int) -> Array:
    """Which bytes from an address on belong to elements of a view."""
    touched = torch.zeros(span, dtype=torch.bool)
    if tensor.numel():
        size, offset = tensor.element_size(), tensor.data_ptr() - first
        steps = [step * size for step in tensor.stride()]
        for byte in range(size):
            view = torch.as_strided(touched, tensor.shape, steps, offset + byte)
            drop_repeats(view).fill_(True)
    reached: Array = touched.numpy()
    return reached


def _find_inside(tensors: list[torch.Tensor], first: int, span: int) -> Array | None:
    """Which bytes of a part belong to one of its views, None where all do."""
    if any(tensor.numel() * tensor.element_size() == span for tensor in tensors):
        return None
    if any(tensor.is_meta for tensor in tensors):
        return None  # as large as the tensor it would be
    touched = np.zeros(span, dtype=bool)
    for tensor in tensors:
        touched |= _find_bytes(tensor, first, span)
    return None if touched.all() else touched


def _pick_garbage(dtype: torch.dtype) -> float:
    if dtype.is_floating_point:
        return float("nan")
    return 1 if dtype is torch.bool else torch.iinfo(dtype).max // 3
