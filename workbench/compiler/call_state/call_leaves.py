"""What a call is given and gives: its inputs once more, its leaves by name, how outputs lie."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.call_state.reachable import list_tensors, same_tensor, walk_reachable
from workbench.compiler.calls.paths import Path, leaves, parts
from workbench.compiler.contract.shared_memory import list_overlapping
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_kind import find_dense_parts, is_flattenable
from workbench.compiler.internals.tensor_like import PLAIN, TensorLike
from workbench.errors import UsageError

STRIDES = "strides of "
"""How the names of strides begin."""
_MOST_NAMED = 4
_OWN_CHOICE = "torch may choose this at capture, so it was not checked"


def find_held_inputs(
    function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None
) -> tuple[torch.Tensor, ...]:
    """The inputs that a callable reads otherwise, too: from its closure, a global, its module.

    What functools.partial bound is in the closure of what is compiled. Code that was compiled for
    such an input accepts no copy of it.
    """
    own = {id(tensor) for tensor in list_tensors(function, code=True)}
    inputs = leaves((args, dict(kwargs or {})), Path("call")) if own else ()
    return tuple(leaf for _, leaf in inputs if id(leaf) in own)


def find_learning_tensors(
    original: Any,
    module: torch.nn.Module | None,
    given: tuple[tuple[Any, ...], dict[str, Any]],
) -> dict[str, torch.Tensor]:
    """What gradients are asked for, by name: inputs, parameters, what else the code reads."""
    inputs = leaves(given, Path("input"))
    named = {str(name): leaf for name, leaf in inputs if isinstance(leaf, torch.Tensor)}
    named |= dict(module.named_parameters()) if module is not None else {}
    named_ids = {id(tensor) for tensor in named.values()}
    learned = walk_reachable([("", original)]).learned
    named |= {name: tensor for name, tensor in learned.items() if id(tensor) not in named_ids}
    return {name: t for name, t in named.items() if t.requires_grad and t.is_leaf}


def copy_all_inputs(
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    held: Collection[torch.Tensor] = (),
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same inputs again: tensors of their own, but those that are `held`; modules shared.

    Tensors that lie in one memory do so in the copies.
    """
    memo: dict[int, Any] = {id(tensor): tensor for tensor in held}
    by_id = {id(leaf): leaf for _, leaf in leaves((args, dict(kwargs or {})), Path("call"))}
    loose = [leaf for place, leaf in by_id.items() if place not in memo and type(leaf) in PLAIN]
    together = list_overlapping([leaf for leaf in loose if leaf.layout is torch.strided])
    # what they are views of is a part of the call, too: compiled code takes that in their place
    bases = {id(base): base for base in (tp.base_of(leaf) for leaf in together)}
    twins = dict(zip(bases, copy_inputs([*bases.values()]), strict=True))
    for leaf in together:
        twin = twins[id(tp.base_of(leaf))]
        if tp.base_of(leaf) is not leaf:
            twin = twin.as_strided(leaf.shape, leaf.stride(), leaf.storage_offset())
        memo[id(leaf)] = twin.requires_grad_(leaf.requires_grad)
    for leaf in by_id.values():
        if id(leaf) in memo:
            continue
        if isinstance(leaf, torch.Tensor):
            twin = _clone(leaf.detach())
            memo[id(leaf)] = twin.requires_grad_(leaf.requires_grad)
        elif isinstance(leaf, torch.nn.Module):
            memo[id(leaf)] = leaf
    try:
        copied: tuple[tuple[Any, ...], dict[str, Any]] = copy.deepcopy(
            (args, dict(kwargs or {})), memo
        )
    except TypeError as error:  # of what holds a place in the world, as a generator or a file does
        raise UsageError(
            f"An input cannot be copied ({error}), and a checked call runs on copies. Pass "
            "only tensors, numbers, or containers of these."
        ) from error
    return copied


def _clone(tensor: torch.Tensor) -> torch.Tensor:
    """A clone with the strides of a tensor; clone() closes the gaps of a slice."""
    twin = tensor.clone(memory_format=torch.preserve_format)
    if type(tensor) not in PLAIN or tensor.layout is not torch.strided:
        return twin
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    if twin.stride() == tensor.stride() or any(s == 0 and n > 1 for n, s in pairs):
        return twin
    return torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    ).copy_(tensor)


def copy_inputs(inputs: list[Any]) -> list[Any]:
    """The same inputs in memory of their own; those that share a storage go on sharing it."""
    storages: dict[int, torch.UntypedStorage] = {}
    copies = []
    for value in inputs:
        if not isinstance(value, torch.Tensor):
            copies.append(value)
            continue
        place = value.untyped_storage().data_ptr()
        if place not in storages:
            whole = torch.empty(0, dtype=torch.uint8).set_(value.untyped_storage())
            storages[place] = whole.clone().untyped_storage()
        copies.append(TensorLike.of(value).view(storages[place]))
    return copies


def copy_tensor(value: torch.Tensor) -> torch.Tensor:
    """A copy that lies in memory as the original does; `clone` closes the gaps of a part."""
    if value.layout is not torch.strided or not value.numel():
        return value.detach().clone()
    reach = sum((size - 1) * step for size, step in zip(value.shape, value.stride(), strict=True))
    whole = value.detach().as_strided((reach + 1,), (1,))
    return whole.clone().as_strided(value.shape, value.stride())


def copy_written(before: Sequence[Any], after: Sequence[Any]) -> dict[int, torch.Tensor]:
    """Copies of the tensors that are not what they were, by their places."""
    pairs = enumerate(zip(before, after, strict=True))
    return {
        at: now.detach().clone()
        for at, (old, now) in pairs
        if isinstance(now, torch.Tensor) and old is not now and not same_tensor(old, now)
    }


@contextlib.contextmanager
def restore_state(
    module: torch.nn.Module | None,
    gpus: Sequence[int] | None = None,
    held: Collection[torch.Tensor] = (),
) -> Iterator[None]:
    """Put the random state (of all GPUs, or of some), the module's buffers and `held` back."""
    changing = (*(() if module is None else module.buffers()), *held)
    buffers = [(part, part.detach().clone()) for b in changing for part in find_dense_parts(b)]
    with torch.random.fork_rng(gpus):
        try:
            yield
        finally:
            for buffer, before in buffers:
                with torch.no_grad():
                    buffer.copy_(before)


def leaves_of(value: Any) -> Any:
    """The leaves of an output with their names, without gradients.

    Of an object that has no == of its own these are the tensors and plain values in it; of a
    tensor subclass its inner tensors, and what else it is made of.
    """
    return [
        (str(path), leaf.detach() if isinstance(leaf, torch.Tensor) else leaf)
        for whole, part in leaves(value, Path("out"))
        for path, leaf in _opened(whole, part, frozenset())
    ]


def _opened(path: Path, leaf: Any, within: frozenset[int]) -> Iterator[tuple[Path, Any]]:
    if isinstance(leaf, torch.Tensor) and is_flattenable(leaf):
        names, context = leaf.__tensor_flatten__()  # type: ignore[attr-defined]
        for name in names:
            yield from _opened(path.attr(name), getattr(leaf, name), within)
        yield path.attr(f"<{type(leaf).__name__}>"), context
        return
    inside = [
        entry
        for name, value in (vars(leaf).items() if _can_be_opened(leaf, within) else ())
        for place, part in leaves(value, path.attr(name))
        for entry in _opened(place, part, within | {id(leaf)})
        if isinstance(entry[1], torch.Tensor | bool | int | float | complex | str)
    ]
    yield from inside or [(path, leaf)]


def _can_be_opened(leaf: Any, within: frozenset[int]) -> bool:
    is_known = isinstance(leaf, torch.Tensor | torch.nn.Module | type) or callable(leaf)
    has_parts = hasattr(leaf, "__dict__") and not has_equality(leaf)
    return has_parts and not is_known and id(leaf) not in within


def has_equality(leaf: Any) -> bool:
    """Whether the class of a leaf, or one above it, has an == of its own."""
    return any("__eq__" in vars(kind) for kind in type(leaf).__mro__[:-1])  # object is the last


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
        outputs = {str(path): leaf for path, leaf in leaves(output, Path("output"))}
        others = {str(path): leaf for path, leaf in leaves(inputs, Path("input"))}
        plain = {n: t for n, t in {**outputs, **others, **state}.items() if _is_plain(t)}
        by_object: dict[int, set[str]] = {}
        by_memory: dict[int, set[str]] = {}
        for name, tensor in plain.items():
            by_object.setdefault(id(tensor), set()).add(name)
            if tensor.numel():
                by_memory.setdefault(_memory(tensor), set()).add(name)
        by_name = {
            name: TensorForm(
                _strides(tensor),
                tensor.requires_grad,
                frozenset(by_object[id(tensor)] - {name}),
                frozenset(by_memory.get(_memory(tensor), {name}) - {name}),
            )
            for name, tensor in plain.items()
            if name in outputs
        }
        return cls(dict(_containers(output, Path("output"))), by_name, frozenset(plain))

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
            other_form = other.tensors.get(name)
            if other_form is not None and form.requires_grad and not other_form.requires_grad:
                yield f"requires_grad of {name}", "expected True, got False"

    def layouts(self, other: Forms) -> Iterator[tuple[str, str, bool]]:
        """Strides and shared memory that are otherwise: a name, how, and whether it is wrong.

        Memory that is shared in `other` alone, between leaves that are two here, is: a write into
        one changes the other.
        """
        both = self.named & other.named
        for name, form in self.tensors.items():
            now = other.tensors.get(name)
            if now is None:
                continue
            if form.strides != now.strides:
                difference = f"expected {list(form.strides)}, got {list(now.strides)}"
                yield f"{STRIDES}{name}", f"{difference}; {_OWN_CHOICE}", False
            gained = sorted((now.shares - form.shares) & both)
            lost = sorted((form.shares - now.shares) & both)
            if gained:
                why = f"shared with {_listed(gained)} only in the compiled code"
                yield f"memory of {name}", why, True
            elif lost or (form.is_also - now.is_also) & both:
                others = _listed(lost or sorted((form.is_also - now.is_also) & both))
                how = "shared with" if lost else "the same object as"
                why = f"{how} {others} only in eager; {_OWN_CHOICE}"
                yield f"memory of {name}", why, False


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
