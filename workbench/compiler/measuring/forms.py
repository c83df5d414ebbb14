"""What outputs are besides their numbers: containers, strides, gradients, whose memory they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.contract.paths import Path, leaves, parts
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_subclass import is_flattenable

_MOST_NAMED = 4
_NOT_PROMISED = (
    "Not compared, as compiled code may choose them otherwise than eager: {}. Whoever calls "
    "view() on an output, or writes into it, can tell them apart."
)


@dataclass(frozen=True)
class TensorForm:
    """How a tensor of the output lies in memory, and the names of what it is or shares it with.

    `is_also` are other leaves that are the same object, `shares` those in the same memory.
    """

    strides: tuple[int, ...]
    requires_grad: bool
    is_also: frozenset[str]
    shares: frozenset[str]


@dataclass(frozen=True)
class Forms:
    """The classes of the containers of an output by their paths, its tensors by their names."""

    containers: Mapping[str, str] = field(default_factory=dict)
    tensors: Mapping[str, TensorForm] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    """Every leaf of the call that a tensor of the output could be."""

    @classmethod
    def of(cls, output: Any, inputs: Any, state: Mapping[str, torch.Tensor]) -> Forms:
        """The form of an output, beside the inputs of the call and the tensors that it reaches."""
        given = {str(path): leaf for path, leaf in leaves(output, Path("output"))}
        others = {str(path): leaf for path, leaf in leaves(inputs, Path("input"))}
        known = {n: t for n, t in {**given, **others, **state}.items() if _is_plain(t)}
        by_object: dict[int, set[str]] = {}
        by_memory: dict[int, set[str]] = {}
        for name, tensor in known.items():
            by_object.setdefault(id(tensor), set()).add(name)
            if tensor.numel():
                by_memory.setdefault(_memory(tensor), set()).add(name)
        found = {
            name: TensorForm(
                _strides(tensor),
                tensor.requires_grad,
                frozenset(by_object[id(tensor)] - {name}),
                frozenset(by_memory.get(_memory(tensor), {name}) - {name}),
            )
            for name, tensor in known.items()
            if name in given
        }
        return cls(dict(_containers(output, Path("output"))), found, frozenset(known))

    @property
    def _beside(self) -> frozenset[str]:
        """The inputs and the state."""
        return self.named - self.tensors.keys()

    def differences(self, other: Forms, *, containers: bool = True) -> Iterator[tuple[str, str]]:
        """What torch promises and is otherwise in another output: its name, and how."""
        for place, kind in self.containers.items() if containers else ():
            now = other.containers.get(place, kind)
            if now != kind:
                yield f"container {place}", f"expected a {kind}, got a {now}"
        if not self._beside <= other._beside:  # what it alone reaches may need the gradient
            return
        for name, form in self.tensors.items():
            found = other.tensors.get(name)
            if found is not None and form.requires_grad and not found.requires_grad:
                yield f"requires_grad of {name}", "expected True, got False"

    def note(self, other: Forms) -> str:
        """What torch does not promise and is otherwise, in one sentence; "" where nothing is.

        Compiled code copies what `F.dropout(x, training=False)` returns as it is, and meta kernels
        know other strides than some kernels have.
        """
        both = self.named & other.named
        strides, memory = [], []
        for name, form in self.tensors.items():
            found = other.tensors.get(name)
            if found is None:
                continue
            if form.strides != found.strides:
                strides.append(f"{name} ({list(form.strides)}, here {list(found.strides)})")
            is_lost = bool((form.is_also - found.is_also) & both)
            if is_lost or form.shares & both != found.shares & both:
                memory.append(name)
        said = [
            f"strides of {_listed(strides)}" if strides else "",
            f"with what {_listed(memory)} {'share' if memory[1:] else 'shares'} memory"
            if memory
            else "",
        ]
        return _NOT_PROMISED.format("; ".join(filter(None, said))) if strides or memory else ""


def _is_plain(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.layout is torch.strided
        and not is_flattenable(value)
        and not value.is_nested
        and not value.is_meta
    )


def _memory(tensor: torch.Tensor) -> int:
    return int(tp.storage_of(tensor))


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """The strides; 0 where a dimension has one element, whose stride says nothing."""
    if not tensor.numel():
        return ()
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return tuple(0 if size == 1 else stride for size, stride in sizes)


def _containers(value: Any, path: Path) -> Iterator[tuple[str, str]]:
    inner = parts(value, path)
    if inner is None:
        return
    yield str(path), type(value).__qualname__
    for part, place in inner.values():
        yield from _containers(part, place)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
