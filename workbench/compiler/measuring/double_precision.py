"""The original once more in double precision: beside every value the same one in float64.

The program itself runs as it always does, with its own dtypes and decisions; what differs from the
value in float64 is what eager rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_subclass import can_be_flattened
from workbench.compiler.measuring.output_comparison import Comparison
from workbench.number_text import number_text

ROUNDINGS = 4.0
"""How many times further than eager a value may be from the original in double precision."""

_FLOATS = (
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.float8_e4m3fn, torch.float8_e5m2,
)  # fmt: skip
_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)
_WIDE = dict.fromkeys(_FLOATS, torch.float64) | dict.fromkeys(_COMPLEX, torch.complex128)

_OPERATOR: Any = tp.OPS.get().OpOverload
_Key = tuple[int, torch.dtype]


class DoublePrecision(tp.DISPATCH_MODE.get()):  # type: ignore[misc]
    """Follows every operator, those of a backward pass too; `exact` gives a tensor in float64.

    A storage has a twin in double precision, so that views and writes in place need no words.
    Where an operator has no form in double precision, and where it draws random numbers, its own
    result counts as exact: the second opinion is then stricter, never milder.
    """

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self._twins: dict[_Key, torch.Tensor] = {}
        self._kept: list[Any] = []  # a storage that is freed would leave its address to another

    def exact(self, tensor: Any) -> torch.Tensor | None:
        """The value in double precision; None for what is no number or was never computed."""
        if not isinstance(tensor, torch.Tensor) or tensor.dtype not in _WIDE:
            return None
        if _key(tensor) not in self._twins:
            return None
        return self._seen(tensor)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        given = tp.TREE_LEAVES.get()((args, kwargs))
        if any(isinstance(leaf, torch.Tensor) and can_be_flattened(leaf) for leaf in given):
            return NotImplemented  # its inner tensors come by next
        is_operator = isinstance(func, _OPERATOR)
        is_mutable = is_operator and func._schema.is_mutable
        twins = {
            id(leaf): self._twin_of(leaf, is_mutable)
            for leaf in given
            if isinstance(leaf, torch.Tensor)
        }
        found = func(*args, **kwargs)
        results = [leaf for leaf in tp.TREE_LEAVES.get()(found) if _is_number(leaf)]
        written = [leaf for leaf in given if _is_number(leaf)] if is_mutable else []
        fresh = [leaf for leaf in results if _key(leaf) not in self._twins]
        if not fresh and not written:
            return found
        wide = None
        if is_operator and torch.Tag.nondeterministic_seeded not in func.tags:
            wide = self._in_double(func, args, kwargs, twins)
        if wide is None:
            for leaf in (*written, *results):
                self._adopt(leaf)
            return found
        exact = tp.TREE_LEAVES.get()(wide[0])
        plain = tp.TREE_LEAVES.get()(found)
        for number, leaf in enumerate(plain):
            if _is_number(leaf) and any(leaf is one for one in fresh):
                self._keep(leaf, exact[number] if len(exact) == len(plain) else None)
        return found

    def _in_double(
        self, func: Any, args: Any, kwargs: Any, twins: Mapping[int, torch.Tensor]
    ) -> tuple[Any] | None:
        def widened(leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor):
                return twins[id(leaf)]
            return _WIDE.get(leaf, leaf) if isinstance(leaf, torch.dtype) else leaf

        try:
            return (func(*tp.TREE_MAP.get()(widened, args), **tp.TREE_MAP.get()(widened, kwargs)),)
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            return None  # not every operator has a form in double precision

    def _twin_of(self, tensor: torch.Tensor, is_mutable: bool) -> torch.Tensor:
        """What stands for an argument: its twin; a copy of what is written to and has none."""
        if not _is_number(tensor):
            is_dense = tensor.layout is torch.strided
            return tensor.clone() if is_mutable and is_dense else tensor
        if _key(tensor) not in self._twins:
            self._adopt(tensor)
        return self._seen(tensor)

    def _seen(self, tensor: torch.Tensor) -> torch.Tensor:
        twin = self._twins[_key(tensor)]
        return twin.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def _adopt(self, tensor: torch.Tensor) -> None:
        """Take the value as it is for the exact one, with all of its storage."""
        storage = tensor.untyped_storage()
        whole = torch.empty(0, dtype=tensor.dtype).set_(storage)
        known = self._twins.get(_key(tensor))
        if known is not None and known.numel() == whole.numel():
            known.copy_(whole)
            return
        self._kept.append(storage)
        self._twins[_key(tensor)] = whole.detach().to(_WIDE[tensor.dtype])

    def _keep(self, tensor: torch.Tensor, exact: Any) -> None:
        """Note the exact value of a new tensor."""
        self._adopt(tensor)
        has_own_places = 0 not in tensor.stride() or not tensor.numel()
        if isinstance(exact, torch.Tensor) and exact.shape == tensor.shape and has_own_places:
            self._seen(tensor).copy_(exact)


def _is_number(leaf: Any) -> bool:
    return (
        isinstance(leaf, torch.Tensor)
        and leaf.dtype in _WIDE
        and leaf.layout is torch.strided
        and leaf.device.type == "cpu"
        and not leaf.is_nested
    )


def _key(tensor: torch.Tensor) -> _Key:
    return tensor.untyped_storage()._cdata, tensor.dtype


def settled(row: Comparison, pair: tuple[str, Any, Any], wide: Any) -> Comparison:
    """A second opinion on a value that differs: the original in double precision.

    Where eager is itself off by as much, as a sum is whose terms cancel, the difference is one of
    rounding.
    """
    _, left, right = pair
    tensors = (left, right, wide)
    if not all(isinstance(part, torch.Tensor) and part.is_floating_point() for part in tensors):
        return row
    if (left.shape, left.dtype) != (right.shape, right.dtype) or left.shape != wide.shape:
        return row
    left, right, wide = (part.double() for part in tensors)
    finite = left.isfinite() & wide.isfinite()
    if not finite.any():
        return row
    if not torch.allclose(left[~finite], right[~finite], 0.0, 0.0, equal_nan=True):
        return row  # an infinity or a NaN is no rounding
    own = float((left - wide)[finite].abs().max())
    its = float((right - wide)[finite].abs().max())
    if not its <= ROUNDINGS * own:  # NaN is no rounding either
        return row
    reason = (
        f"within rounding: from double precision eager is off by {number_text(own, 'difference')}, "
        f"this by {number_text(its, 'difference')}"
    )
    return replace(row, verdict="passed", reason=reason)
