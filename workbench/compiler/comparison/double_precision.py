"""The original once more in double precision: beside every value the same one in float64.

The program itself runs as it always does, with its own dtypes and decisions; what differs from the
value in float64 is what eager rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.call_state.reachable import same_tensor
from workbench.compiler.comparison.roundings import round_by_chance
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_kind import is_flattenable

EIGHT_BITS = (
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64, *EIGHT_BITS)
_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)
_WIDE = dict.fromkeys(_FLOATS, torch.float64) | dict.fromkeys(_COMPLEX, torch.complex128)

_WHOLE = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
)
_OF_TORCH = ("aten", "prims", "prim")
_OPERATOR: Any = tp.OPS.get().OpOverload
_PRODUCTS = frozenset({"bmm", "dot", "mm", "mv", "vdot"})
_ROUNDED_ONCE = frozenset(
    {
        "_to_copy",
        "amax",
        "amin",
        "bmm",
        "cat",
        "constant_pad_nd",
        "copy",
        "dot",
        "embedding",
        "flip",
        "gather",
        "index",
        "index_select",
        "masked_select",
        "max",
        "mean",
        "min",
        "mm",
        "mv",
        "roll",
        "select_backward",
        "slice_backward",
        "sort",
        "stack",
        "sum",
        "topk",
        "tril",
        "triu",
        "vdot",
    }
)
"""Operators, beside those of single elements, that eager and generated code round once, at the
end. A product with a bias, which generated code may part, and a normalisation are not among them.
"""
_OPEN_ORDERS = frozenset(
    {
        torch.ops.aten.sort.default,
        torch.ops.aten.sort.stable,
        torch.ops.aten.topk.default,
    }
)
"""Operators of which torch does not say in what order elements come that are equal."""
_DECIDING = frozenset(
    {"ceil", "floor", "floor_divide", "fmod", "remainder", "round", "sign", "trunc"}
)
"""Operators that make a step of what lies beside one."""
_Key = tuple[int, torch.dtype]


@dataclass(frozen=True)
class Dice:
    """Random roundings: every value is off by up to half of `digits` last digits of its dtype.

    With `decisions` only what an operator rounds is, and whole numbers are followed, too. With
    `steps` so is what eager rounds on the way to a value, and not the last rounding of the value:
    arguments and sums of 16 bits are off by `digits` of float32, as eager adds in float32. With
    `orders` nothing is rounded: sort and topk give elements that are equal in another order, which
    they leave open, and all that is computed from them goes on from that.
    """

    seed: int
    digits: float = 1.0
    decisions: bool = False
    steps: bool = False
    orders: bool = False


class DoublePrecision(tp.DISPATCH_MODE.get()):  # type: ignore[misc]
    """Follows every operator, those of a backward pass too; `exact` gives a tensor in float64.

    A storage has a twin in double precision, so that views and writes in place need no words.
    Where an operator has no form in double precision, where it draws random numbers, and what is
    written past torch (by numpy, through an address, by a Triton kernel), its own result counts as
    exact: the second opinion is then stricter, never milder. An operator which is not torch's own
    may know one dtype alone: it is called with the exact values as its dtype rounds them, and where
    it gives something else when it is called twice, its own result counts as exact.
    `knows_roundings` says whether a value depends on none of these.

    With `dice` every value is off by a random part of the last digit of its dtype, which tells how
    much of a value roundings decide.
    """

    supports_higher_order_operators = True

    def __init__(self, dice: Dice | None = None) -> None:
        super().__init__()
        self._dice = dice
        self._generator = None if dice is None else torch.Generator().manual_seed(dice.seed)
        self._twins: dict[_Key, torch.Tensor] = {}
        self._left: dict[_Key, torch.Tensor] = {}
        """What torch left in each storage, by which a write past it is noticed."""
        self._kept: list[Any] = []  # a storage that is freed would leave its address to another
        self._foreign: set[_Key] = set()
        """Storages with values that depend on some that were taken as exact."""
        self._unrounded: dict[_Key, torch.Tensor] = {}
        """With steps: storages as they are before their last rounding."""
        self._by_decision: set[_Key] = set()
        """With steps: storages that depend on whole numbers which floats decide."""
        self._decided: dict[_Key, tuple[torch.Tensor, torch.Tensor]] = {}
        """Whole numbers as they would be with these roundings, and as torch left them."""

    def exact(self, tensor: Any) -> torch.Tensor | None:
        """The value in double precision; None for what is no number or was never computed.

        With dice that follow decisions: a whole number or a bool as it would be. With steps None,
        too, for what depends on whole numbers that roundings may decide.
        """
        if self._follows_decisions and _is_decision(tensor):
            return self._decided_of(tensor).clone()
        if not isinstance(tensor, torch.Tensor) or tensor.dtype not in _WIDE:
            return None
        if _key(tensor) not in self._twins:
            return None
        if _key(tensor) in self._by_decision:
            return None
        twin, unrounded = self._seen(tensor), self._unrounded.get(_key(tensor))
        return twin if unrounded is None else _as(tensor, unrounded)

    def knows_roundings(self, tensor: Any) -> bool:
        """Whether `exact` tells everything that eager rounded in it."""
        return not _is_number(tensor) or _key(tensor) not in self._foreign

    def values(self, named: Mapping[str, Any]) -> InDouble:
        """The leaves of a run that was followed; with decisions those that are whole numbers."""
        if self._dice is not None and self._dice.orders:
            plain = {n: v for n, v in named.items() if isinstance(v, torch.Tensor)}
            return InDouble({name: leaf.detach() for name, leaf in plain.items()}, named)
        compared = {
            n: v for n, v in named.items() if not self._follows_decisions or _is_decision(v)
        }
        exact = {name: self.exact(leaf) for name, leaf in compared.items()}
        foreign = {name for name, leaf in named.items() if not self.knows_roundings(leaf)}
        return InDouble(exact, named, frozenset(foreign))

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if self._dice is not None and self._dice.orders:
            return _order_otherwise(func, args, kwargs or {}, self._generator)
        return self._follow(func, args, kwargs or {})

    def _follow(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What an operator gives, with the twins of that in double precision."""
        arguments = tp.TREE_LEAVES.get()((args, kwargs))
        if any(isinstance(leaf, torch.Tensor) and is_flattenable(leaf) for leaf in arguments):
            return NotImplemented  # its inner tensors come by next
        is_operator = isinstance(func, _OPERATOR)
        is_mutable = is_operator and tp.schema_of(func).is_mutable
        twins = {
            id(leaf): self._twin_of(leaf, is_mutable)
            for leaf in arguments
            if isinstance(leaf, torch.Tensor)
        }
        otherwise = self._decided_among(arguments, is_mutable)
        before = torch.get_rng_state() if is_operator and _may_draw(func) else None
        output = func(*args, **kwargs)
        draws = before is not None and (
            kwargs.get("generator") is not None or not torch.equal(before, torch.get_rng_state())
        )  # the fused attention may draw, and does not without dropout
        self._note_left(arguments)
        results = [leaf for leaf in tp.TREE_LEAVES.get()(output) if _is_number(leaf)]
        written = [leaf for leaf in arguments if _is_number(leaf)] if is_mutable else []
        fresh = [leaf for leaf in results if _key(leaf) not in self._twins]
        self._decide(func, args, kwargs, {**twins, **otherwise}, output, draws)
        self._note_decisions(func, arguments, [*tp.TREE_LEAVES.get()(output), *written])
        if not fresh and not written:
            return output
        wide = None
        if is_operator and _is_generic(func, draws):
            wide = self._in_double(func, args, kwargs, self._blurred(func, arguments, twins))
        elif is_operator and not is_mutable and not draws:
            wide = self._by_rounded(func, args, kwargs, twins, output)
        fills = draws and is_mutable and func.namespace in _OF_TORCH
        numbers = [leaf for leaf in arguments if _is_number(leaf)]
        depends = any(_key(leaf) in self._foreign for leaf in numbers)
        is_own = is_operator and func.namespace in _OF_TORCH and wide is not None
        if depends or (not is_own and bool(numbers) and not fills):
            self._foreign |= {_key(leaf) for leaf in (*written, *results)}
        if wide is None:
            for leaf in (*written, *results):
                self._adopt(leaf)
            return output
        exact = tp.TREE_LEAVES.get()(wide[0])
        plain = tp.TREE_LEAVES.get()(output)
        for number, leaf in enumerate(plain):
            if _is_number(leaf) and any(leaf is one for one in fresh):
                self._keep(leaf, exact[number] if len(exact) == len(plain) else None)
        self._step(func, args, written, results)
        return output

    @property
    def _follows_steps(self) -> bool:
        return self._dice is not None and self._dice.steps

    def _blurred(
        self, func: Any, arguments: Sequence[Any], twins: Mapping[int, torch.Tensor]
    ) -> Mapping[int, torch.Tensor]:
        """The arguments; with steps those of an operator that may round on its way are off."""
        devices = {leaf.device.type for leaf in arguments if isinstance(leaf, torch.Tensor)}
        is_exact = tp.schema_of(func).is_mutable or _is_rounded_once(func, devices)
        if not self._follows_steps or is_exact:
            return twins
        off = {}
        for leaf in arguments:
            if _is_number(leaf):
                twin = twins[id(leaf)]
                sides = torch.rand(twin.shape, generator=self._generator, dtype=torch.float64) - 0.5
                eps = torch.finfo(leaf.dtype).eps
                off[id(leaf)] = torch.where(twin.isfinite(), twin * (1 + 2 * eps * sides), twin)
        return {**twins, **off}

    def _note_decisions(self, func: Any, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        """Follow whole numbers that floats decide, to the floats that depend on them."""
        if not self._follows_steps:
            return
        numbers = [leaf for leaf in arguments if _is_number(leaf)]
        others = [leaf for leaf in arguments if _is_decision(leaf)]
        depends = any(_key(leaf) in self._by_decision for leaf in (*numbers, *others))
        decides = isinstance(func, _OPERATOR) and _name_of(func).rstrip("_") in _DECIDING
        for leaf in results:
            is_by_decision = decides or depends if _is_number(leaf) else depends or bool(numbers)
            if is_by_decision and (_is_number(leaf) or _is_decision(leaf)):
                self._kept.append(leaf.untyped_storage())
                self._by_decision.add(_key(leaf))

    def _step(
        self, func: Any, args: Any, written: Sequence[torch.Tensor], results: Sequence[torch.Tensor]
    ) -> None:
        """Round what was written in place; a copy is as little rounded as what it is of."""
        if not self._follows_steps:
            return
        for leaf in written:
            self._unrounded.pop(_key(leaf), None)
            if not _overlaps(leaf):
                twin = self._seen(leaf)
                twin.copy_(self._rounded(twin, leaf.dtype))
        if func is torch.ops.aten.clone.default and results and not _overlaps(results[0]):
            unrounded = self._unrounded.get(_key(args[0]))
            if unrounded is not None and _key(results[0]) in self._unrounded:
                target = _as(results[0], self._unrounded[_key(results[0])])
                target.copy_(_as(args[0], unrounded))

    @property
    def _follows_decisions(self) -> bool:
        return self._dice is not None and self._dice.decisions

    def _decided_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """A whole number as these roundings make it; as it is, where it was written otherwise."""
        decided, left = self._decided.get(_key(tensor), (None, None))
        if decided is None or left is None or not torch.equal(_as(tensor, left), tensor):
            return tensor.detach()
        return _as(tensor, decided)

    def _decided_among(self, arguments: Sequence[Any], is_mutable: bool) -> dict[int, torch.Tensor]:
        """What stands for each whole number among arguments."""
        if not self._follows_decisions:
            return {}
        decided = {id(leaf): self._decided_of(leaf) for leaf in arguments if _is_decision(leaf)}
        return {at: one.clone() for at, one in decided.items()} if is_mutable else decided

    def _decide(
        self,
        func: Any,
        args: Any,
        kwargs: Any,
        twins: Mapping[int, torch.Tensor],
        output: Any,
        draws: bool,
    ) -> None:
        """Note what an operator makes of other roundings, where that is whole numbers.

        What is computed from them goes on from those of the run: one program, one way through it.
        """
        if not self._follows_decisions or not isinstance(func, _OPERATOR):
            return
        plain = tp.TREE_LEAVES.get()(output)
        writes = tp.schema_of(func).is_mutable and any(_is_number(leaf) for leaf in plain)
        if writes or not _is_generic(func, draws) or not any(_is_decision(leaf) for leaf in plain):
            return
        wide = self._in_double(func, args, kwargs, twins)
        others = [] if wide is None else tp.TREE_LEAVES.get()(wide[0])
        for leaf, other in zip(plain, others, strict=False):
            is_like = _is_decision(leaf) and not _overlaps(leaf) and _is_decision(other)
            if not is_like or (other.shape, other.dtype) != (leaf.shape, leaf.dtype):
                continue
            if torch.equal(other, self._decided_of(leaf)):
                continue
            left = _whole(leaf).clone()
            decided = self._decided.get(_key(leaf), (left,))[0].clone()
            _as(leaf, decided).copy_(other)
            self._kept.append(leaf.untyped_storage())
            self._decided[_key(leaf)] = decided, left

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

    def _by_rounded(
        self, func: Any, args: Any, kwargs: Any, twins: Mapping[int, torch.Tensor], output: Any
    ) -> tuple[Any] | None:
        """What an operator gives for exact values; None where it is not the same each time."""

        def rounded(leaf: Any) -> Any:
            if not _is_number(leaf):
                return leaf
            twin = twins[id(leaf)]
            if self._dice is not None:  # what half a digit moves is often rounded back
                sides = torch.randint(2, twin.shape, generator=self._generator) * 2 - 1
                twin = twin * (1 + torch.finfo(leaf.dtype).eps * sides)
            return twin.to(leaf.dtype)

        state = torch.get_rng_state()
        try:
            again = func(*args, **kwargs)
            near = func(*tp.TREE_MAP.get()(rounded, args), **tp.TREE_MAP.get()(rounded, kwargs))
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            return None  # an operator may refuse to be called twice
        finally:
            torch.set_rng_state(state)
        both = zip(tp.TREE_LEAVES.get()(output), tp.TREE_LEAVES.get()(again), strict=True)
        if not all(same_tensor(one, other) for one, other in both if _is_number(one)):
            return None
        return (tp.TREE_MAP.get()(_widened, near),)

    def _twin_of(self, tensor: torch.Tensor, is_mutable: bool) -> torch.Tensor:
        """What stands for an argument: its twin; a copy of what is written to and has none."""
        if not _is_number(tensor):
            is_dense = tensor.layout is torch.strided
            return tensor.clone() if is_mutable and is_dense else tensor
        if _key(tensor) not in self._twins:
            self._adopt(tensor)
        return self._seen(tensor)

    def _seen(self, tensor: torch.Tensor) -> torch.Tensor:
        self._take_written(tensor)
        return _as(tensor, self._twins[_key(tensor)])

    def _take_written(self, tensor: torch.Tensor) -> None:
        """Take for exact what was written into the memory of a tensor past torch."""
        key = _key(tensor)
        part = _whole(tensor) if _overlaps(tensor) else tensor.detach()
        now = part.to(_WIDE[tensor.dtype])
        left, twin = (_as(part, one[key]) for one in (self._left, self._twins))
        is_other = (now != left) & ~(now.isnan() & left.isnan())
        if bool(is_other.any()):
            self._foreign.add(key)
            twin.copy_(torch.where(is_other, self._rounded(now, tensor.dtype), twin))
            left.copy_(now)

    def _note_left(self, arguments: Sequence[Any]) -> None:
        """Note what an operator left in its arguments; some write where their schema has none."""
        for leaf in arguments:
            if _is_number(leaf) and (left := self._left.get(_key(leaf))) is not None:
                now = _whole(leaf) if _overlaps(leaf) else leaf.detach()
                _as(now, left).copy_(now)

    def _rounded(self, exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """The value, with dice off by up to half a digit of the dtype, or as many as they say.

        Next to zero a digit is the smallest number of the dtype; what is less than half of it away
        from zero may become zero, and never gets another sign.
        """
        if self._dice is None:
            return exact
        if self._dice.steps and _is_short(dtype):
            return round_by_chance(exact, dtype, self._generator)
        off = torch.rand(exact.shape, generator=self._generator, dtype=torch.float64) - 0.5
        limits = torch.finfo(dtype)
        # of 16 bits and less sums are float32: such a value is off by its one rounding
        off *= self._dice.digits if limits.bits > 16 else min(self._dice.digits, 2.0)
        if exact.is_complex() or limits.tiny < torch.finfo(torch.float64).tiny * 2:
            return exact * (1 + limits.eps * off)
        size = exact.abs()
        digit = limits.eps * size.clamp_min(limits.tiny)
        rounded = (size + digit * off).clamp_min(0.0).copysign(exact)
        return torch.where(exact.isfinite(), rounded, exact)  # infinity less infinity is NaN

    def _as_argument(self, whole: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """What counts as exact, with dice as far off as eager may be where it computes with it."""
        if self._follows_decisions:
            return whole
        is_in_float32 = self._follows_steps and _is_short(dtype)
        return self._rounded(whole, torch.float32 if is_in_float32 else dtype)

    def _adopt(self, tensor: torch.Tensor) -> None:
        """Take the value as it is for the exact one, with all of its storage."""
        whole = _whole(tensor).to(_WIDE[tensor.dtype])
        exact = self._as_argument(whole, tensor.dtype)
        key, twin = _key(tensor), self._twins.get(_key(tensor))
        self._unrounded.pop(key, None)
        if twin is not None and twin.numel() == whole.numel():
            twin.copy_(exact)
            self._left[key].copy_(whole)
            return
        self._kept.append(tensor.untyped_storage())
        self._twins[key], self._left[key] = exact.clone(), whole.clone()

    def _keep(self, tensor: torch.Tensor, exact: Any) -> None:
        """Note the exact value of a new tensor."""
        self._adopt(tensor)
        if (
            isinstance(exact, torch.Tensor)
            and exact.shape == tensor.shape
            and not _overlaps(tensor)
        ):
            rounded = self._rounded(exact, tensor.dtype)
            if self._follows_decisions:  # 3.0 of a round is not rounded: 2.9999 would become 2
                as_held = exact.to(tensor.dtype).to(exact.dtype)  # float8 is compared with no other
                rounded = torch.where(exact == as_held, exact, rounded)
            self._seen(tensor).copy_(rounded)
            if self._follows_steps:
                before = self._unrounded[_key(tensor)] = self._twins[_key(tensor)].clone()
                _as(tensor, before).copy_(exact)


def _order_otherwise(
    func: Any, args: tuple[Any, ...], kwargs: Any, generator: torch.Generator | None
) -> Any:
    """What an operator gives; equal elements in another order where it leaves that open."""
    if func not in _OPEN_ORDERS or kwargs.get("stable") or not args[0].dim():
        return func(*args, **kwargs)
    values, *rest = args
    names = [argument.name for argument in tp.schema_of(func).arguments]
    dim = {"dim": -1, **dict(zip(names, args, strict=False)), **kwargs}["dim"]
    order = torch.randperm(values.shape[dim], generator=generator).to(values.device)
    results, at = func(values.index_select(dim, order), *rest, **kwargs)  # on a CPU it is stable
    return results, order[at]


def _as(tensor: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    """The part of a flat copy of a storage where a tensor lies."""
    return whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    """All of a storage, flat."""
    return torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether elements of a tensor may lie in one place: it was expanded."""
    return 0 in tensor.stride() and tensor.numel() > 0


def _is_generic(func: Any, draws: bool) -> bool:
    """Whether an operator does the same in every dtype and drew no random numbers."""
    return func.namespace in _OF_TORCH and not draws


def _name_of(func: Any) -> str:
    name: str = tp.schema_of(func).name
    return name.split("::")[1]


def _is_short(dtype: torch.dtype) -> bool:
    return not dtype.is_complex and torch.finfo(dtype).bits <= 16


def _is_rounded_once(func: Any, devices: Collection[str]) -> bool:
    is_view = func.is_view or func.namespace == "prims"
    is_of_elements = torch.Tag.pointwise in func.tags
    name = _name_of(func)
    # cuBLAS adds the parts of a product in 16 bits, which torch allows unless told otherwise
    # (torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction, 2.13)
    is_in_parts = name in _PRODUCTS and bool({*devices} - {"cpu"})
    return is_view or is_of_elements or (name in _ROUNDED_ONCE and not is_in_parts)


def _may_draw(func: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in func.tags


def _is_number(leaf: Any) -> bool:
    return (
        isinstance(leaf, torch.Tensor)
        and leaf.dtype in _WIDE
        and leaf.layout is torch.strided
        and leaf.device.type == "cpu"
        and not leaf.is_nested
    )


def _is_decision(leaf: Any) -> bool:
    """Whole numbers and bools: what is computed of them is another thing, not a rounded one."""
    return (
        isinstance(leaf, torch.Tensor)
        and (leaf.dtype in _WHOLE)
        and leaf.layout is torch.strided
        and leaf.device.type == "cpu"
        and not leaf.is_nested
    )


def _widened(leaf: Any) -> Any:
    return leaf.to(_WIDE[leaf.dtype]) if _is_number(leaf) else leaf


def _key(tensor: torch.Tensor) -> _Key:
    return tp.storage_of(tensor), tensor.dtype


@dataclass(frozen=True)
class InDouble:
    """A run of the original by the names of leaves: in double precision, and as eager rounds it.

    Both are of one run: where the original gives something else each time, as one that keeps count
    in memory that torch does not see, that is no rounding. `foreign` are those that depend on what
    only counts as exact.
    """

    exact: Mapping[str, torch.Tensor | None] = field(default_factory=dict)
    rounded: Mapping[str, Any] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()


def follow_in_double(
    run: Callable[[DoublePrecision], Mapping[str, Any]], dice: Dice | None = None
) -> InDouble:
    """The values of a run, by name, in double precision or with other roundings.

    `run` enters the mode that it is given. Nothing where it refuses: code that looks at what
    tensors are may do so, and not every operator has a form in double precision.
    """
    mode = DoublePrecision(dice)
    try:
        named = run(mode)
    except (RuntimeError, TypeError, NotImplementedError):
        return InDouble()
    return mode.values(named)
