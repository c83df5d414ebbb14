"""How far two tensors are apart: in units of the last place, and in roundings of the whole.

The noise floor of a value is what one unit in the last place on its inputs does to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

import torch

from workbench.worlds.numerics.computing.cones import (
    CannotCompute,
    Cone,
    IndexedGraph,
    is_random,
    name_operator,
)
from workbench.worlds.numerics.computing.precisions import LOW, Precision, find_factors
from workbench.worlds.numerics.computing.recorded_stages import StageGraph
from workbench.worlds.numerics.computing.users_launches import UsersLaunch, UsersReference
from workbench.worlds.numerics.findings.causes import (
    FORMULA_CHANGED,
    UNKNOWN,
    Cause,
    Measured,
    classify,
    judge,
)
from workbench.worlds.numerics.rows import Deviation

BITS = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}
"""The integers of the same width, whose order is that of the numbers."""
_MOST_ULPS = 1 << 62
NAN = "NaN"
"""The part of a histogram where one of the two has a number, and the other none."""


@dataclass(frozen=True)
class Kinds:
    """Elements that are NaN, infinite or finite otherwise than float64, by whose they are.

    `own` are lost by the program alone, `eager` by eager alone, `both` by each in its own way. What
    the same nodes with values of 16 bits held in float32 lose as the program does, or keep, is
    `late`: holding them so explains it.
    """

    own: int = 0
    eager: int = 0
    both: int = 0
    late: int = 0


@dataclass(frozen=True)
class Apart:
    """How far a tensor is from another of its type.

    `differ` is the share of the elements, `max_ulp` the largest distance in units in the last
    place; `histogram` counts elements by it: `0`, `1`, `2`, `3-4`, `5-8`, …, `NaN`.
    """

    elements: int
    differ: float
    max_ulp: int
    histogram: tuple[tuple[str, int], ...]


def is_comparable(a: Any, b: Any) -> bool:
    """Whether both are tensors of the same shape and type that hold numbers."""
    both = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    if not both or a.is_meta or b.is_meta:
        return False
    return bool((a.shape, a.dtype) == (b.shape, b.dtype))


def describe_kind(value: Any) -> str:
    """Type and sizes of a tensor, the type of anything else."""
    if not isinstance(value, torch.Tensor):
        return f"of type {type(value).__name__}"
    where = " on meta, without values" if value.is_meta else ""
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}{where}"


def is_equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether both hold the same; a NaN is like a NaN, and zero like its negative."""
    if torch.equal(a, b):
        return True
    return a.is_floating_point() and bool(((a == b) | (a.isnan() & b.isnan())).all())


def measure_apart(a: torch.Tensor, b: torch.Tensor) -> Apart:
    """How far two tensors of one shape and type are apart."""
    gap = compute_ulps(a, b).flatten()
    if not gap.numel():
        return Apart(0, 0.0, 0, ())
    # 0, 1, 2, 3 to 4, 5 to 8, ...: each part is a power of 2, rounded up
    parts = torch.where(gap > 0, gap.double().log2().ceil().to(torch.int64) + 2, (gap == 0).long())
    counts = torch.bincount(parts).tolist()
    histogram = tuple((_name_part(part), count) for part, count in enumerate(counts) if count)
    equal = counts[1] if len(counts) > 1 else 0
    return Apart(gap.numel(), 1 - equal / gap.numel(), max(0, int(gap.max())), histogram)


def _name_part(part: int) -> str:
    """The name of a part of a histogram: where one side is lost, equal, then powers of 2."""
    if part < 2:
        return "0" if part else NAN
    high = 1 << (part - 2)
    return str(high) if high < 3 else f"{high // 2 + 1}-{high}"


def compute_ulps(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Distances in units in the last place; -1 where only one side is NaN.

    Of integers, and of types without an order of their bits, the difference, rounded up.
    """
    if a.is_complex():
        a, b = torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj())
    if a.dtype not in BITS:
        return (a.double() - b.double()).abs().ceil().to(torch.int64)
    low = torch.iinfo(BITS[a.dtype]).min
    ordered = []
    for value in (a, b):
        bits = value.contiguous().view(BITS[a.dtype]).to(torch.int64)
        ordered.append(torch.where(bits < 0, low - bits, bits))
    gap = (ordered[0] - ordered[1]).abs().clamp_max(_MOST_ULPS)
    lost = a.isnan() | b.isnan()
    return torch.where(lost, torch.where(a.isnan() & b.isnan(), 0, -1), gap)


def measure_off(
    value: torch.Tensor, exact: torch.Tensor, dtype: torch.dtype, scale: float = 0.0
) -> float:
    """The largest error in roundings of the type at the scale of the whole tensor.

    Next to zero, cancellation makes millions of units in the last place out of nothing, so that
    these say little. Infinite where one side has a NaN or an infinity that the other has not, but
    for what is too large for the type. `scale` counts where all of the exact values are 0.
    """
    computed, true = (_wide(part) for part in (value, exact))
    if computed.shape != true.shape or not computed.numel():
        return 0.0
    unit = torch.finfo(dtype).eps if dtype.is_floating_point or dtype.is_complex else 1.0
    gap = float((computed - true).abs().max())
    if isfinite(gap):  # then so is every element: most tensors need no look at each
        return _in_roundings(gap, float(true.abs().max()) or scale, unit)
    if bool(find_lost(value, exact, dtype).any()):
        return inf
    finite = computed.isfinite() & true.isfinite()
    if not bool(finite.any()):
        return 0.0
    gap, own = float((computed - true)[finite].abs().max()), float(true[finite].abs().max())
    return _in_roundings(gap, own or scale, unit)


def find_lost(value: torch.Tensor, exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Elements that are NaN, infinite or finite where the exact ones are of another of these kinds.

    What is too large for the type may be infinite.
    """
    kinds = name_kinds(exact)
    lost = name_kinds(value) != kinds
    if dtype.is_floating_point or dtype.is_complex:
        lost &= name_kinds(value) != name_kinds(exact.to(dtype))
    return lost


def name_kinds(value: torch.Tensor) -> torch.Tensor:
    """Of each element 0 where it is finite, else a number for NaN, infinity and its negative."""
    wide = _wide(value)
    return wide.isnan() + 2 * wide.isposinf() + 3 * wide.isneginf()


def compare_kinds(
    got: torch.Tensor,
    eager: torch.Tensor,
    exact: torch.Tensor,
    late: torch.Tensor,
    dtype: torch.dtype,
) -> Kinds:
    """Who has lost which elements to NaN and infinity."""
    kinds = [name_kinds(value) for value in (got, eager, late)]
    if not any(bool(kind.any()) for kind in (*kinds, name_kinds(exact))):
        return Kinds()
    own, other = find_lost(got, exact, dtype), find_lost(eager, exact, dtype)
    one, two = _wide(got), _wide(eager)
    differ = (one != two) & ~(one.isnan() & two.isnan())
    is_late = differ & (kinds[0] != kinds[1]) & (kinds[2] == kinds[0])
    parts = (own & ~other, other & ~own, own & other)
    alone, of_eager, both = (int((part & differ & ~is_late).sum()) for part in parts)
    return Kinds(alone, of_eager, both, int((is_late & (own | other)).sum()))


def find_scale(values: Iterable[object]) -> float:
    """The largest finite number among tensors of floats; 0 where there is none."""
    floats = [v for v in values if isinstance(v, torch.Tensor) and v.numel()]
    most = 0.0
    for value in floats:
        if value.is_floating_point() or value.is_complex():
            most = max(most, float(torch.nan_to_num(_wide(value), 0.0, 0.0, 0.0).abs().max()))
    return most


def _in_roundings(gap: float, scale: float, unit: float) -> float:
    """An error in units of what a rounding is at a scale; of integers as it is."""
    if unit == 1.0:
        return gap
    return gap / unit / scale if scale else (inf if gap else 0.0)


def measure_relative(value: torch.Tensor, exact: torch.Tensor, scale: float = 0.0) -> float:
    """The largest error beside the largest value; see `measure_off`."""
    return measure_off(value, exact, torch.float64, scale) * torch.finfo(torch.float64).eps


def _wide(value: torch.Tensor) -> torch.Tensor:
    """In float64; a complex number as two."""
    value = value.detach()
    if value.is_complex():
        return torch.view_as_real(value.to(torch.complex128).resolve_conj())
    return value.double()


DRAWS = 3
_SEED = 48
_TILE = 4099


class Noisy(Mapping[str, Any]):
    """Values with every float moved by one unit in its last place, up or down, when asked for.

    With `is_wide` they are then held in float64. Infinities, zeros and NaN stay as they are. The
    same value is moved in the same way each time, and so are weights that two names share.
    """

    def __init__(self, values: Mapping[str, Any], draw: int, *, is_wide: bool = False):
        dice = torch.Generator().manual_seed(_SEED + draw)
        signs = torch.randint(2, (_TILE,), generator=dice).mul_(2).sub_(1)
        self._values, self._signs, self._is_wide = values, signs, is_wide

    def __getitem__(self, name: str) -> Any:
        moved = _move_by_one(self._values[name], self._signs)
        return Precision.WIDE.fit(moved) if self._is_wide else moved

    def __contains__(self, name: object) -> bool:
        return name in self._values  # that of Mapping moves the value to find out

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def list_noisy(values: Mapping[str, Any], *, is_wide: bool = False) -> Iterator[Noisy]:
    """The values with noise, once for each draw; see `Noisy`."""
    for draw in range(DRAWS):
        yield Noisy(values, draw, is_wide=is_wide)


def _move_by_one(value: Any, signs: torch.Tensor) -> Any:
    """A tensor with each number one unit in its last place away from zero, or nearer to it."""
    if not isinstance(value, torch.Tensor) or value.dtype not in BITS or not value.numel():
        return value  # a step of a type of 8 bits is no noise
    # 0.7 times the number's own eps is rounded to one unit, wherever between two powers of 2 it is
    step = signs.to(value.dtype) * (0.7 * torch.finfo(value.dtype).eps)
    flat = value.detach().reshape(-1)
    # a tile of prime length: neighbours of a row and of a column get signs of their own
    whole = len(flat) // _TILE * _TILE
    moved = torch.empty_like(flat)
    rows, rest = flat[:whole].view(-1, _TILE), flat[whole:]
    torch.addcmul(rows, rows, step, out=moved[:whole].view(-1, _TILE))
    torch.addcmul(rest, rest, step[: len(rest)], out=moved[whole:])
    low, high = moved.aminmax()
    if not bool(low.isfinite() & high.isfinite()):
        moved = torch.where(moved.isfinite(), moved, flat)
    return moved.view(value.shape)


def measure_noise(
    graph: IndexedGraph,
    known: Mapping[str, Any],
    name: str,
    exact: torch.Tensor,
    dtype: torch.dtype,
    scale: float = 0.0,
) -> float | None:
    """The most that noise on what a node is computed from moves it, in roundings of its type.

    None where it cannot be computed, or where nothing that it is computed from is a float.
    """
    leaves = {leaf: known[leaf] for leaf in graph.find_leaves(name, known)}
    floats = (v for v in leaves.values() if isinstance(v, torch.Tensor))
    if not any(v.dtype.is_floating_point for v in floats):
        return None
    try:
        return max(
            measure_off(Cone(graph, noisy, Precision.WIDE).value(name), exact, dtype, scale)
            for noisy in list_noisy(leaves, is_wide=True)
        )
    except CannotCompute:
        return None


MOST_NAMED = 12
_MOST_NODES = 60  # of a cone, those next to its value


@dataclass(frozen=True)
class Place:
    """The value that is looked at: a node of a graph, and the part that computes it otherwise.

    `known` are the values that the node is computed from, the same on both sides. `tf32` is how
    products of the part may take float32, on a GPU that has units for it.
    """

    stage: str
    part: str
    graph: StageGraph
    node: str
    known: Mapping[str, Any]
    kernel: str | None = None
    is_library: bool = False
    tf32: Precision | None = None

    @property
    def inside(self) -> tuple[str, ...]:
        """The nodes that are computed for it."""
        return self.graph.find_inside(self.node, self.known)

    @property
    def operators(self) -> tuple[str, ...]:
        """What is computed for it, the operator of the node itself first."""
        nodes = self.graph.nodes
        calls = [n for n in reversed(self.inside) if nodes[n].op.startswith("call")]
        return tuple(dict.fromkeys(name_operator(nodes[name]) for name in calls))

    @property
    def is_random(self) -> bool:
        """Whether random numbers are drawn in it."""
        return any(is_random(self.graph.nodes[name]) for name in self.inside)

    @property
    def reference(self) -> str:
        """What stands for the code of the user that it is about; "" for other nodes."""
        node = self.graph.nodes[self.node]
        if isinstance(node.target, UsersReference):
            return "compared with its reference"
        source = self.graph.nodes.get(getattr(node.args[0], "name", "")) if node.args else None
        if source is None or not isinstance(source.target, UsersLaunch):
            return ""
        return f"argument {node.args[1]} compared with its reference"

    def compute(self, precision: Precision) -> Any:
        """The value by eager's nodes in one precision; raises `CannotCompute`."""
        return Cone(self.graph, self.known, precision).value(self.node)

    def find_scale(self) -> float:
        """The largest number that the value is computed from: what it rounds by where it is 0."""
        cone = Cone(self.graph, self.known, Precision.WIDE)
        leaves = self.graph.find_leaves(self.node, self.known)
        return find_scale(cone.value(name) for name in (*leaves, *self.inside))

    @property
    def has_floats(self) -> bool:
        """Whether anything that it is computed from is a float, which rounding may change."""
        rows = self.graph.rows
        names = (*self.graph.find_leaves(self.node, self.known), *self.inside)
        return any("float" in (rows[name].dtype or "float") for name in names if name in rows)

    def measure_noise(
        self, exact: torch.Tensor, dtype: torch.dtype, scale: float = 0.0
    ) -> float | None:
        """What noise on `known` does to the value; see `measure_noise`."""
        return measure_noise(self.graph, self.known, self.node, exact, dtype, scale)

    def row(self, cause: Cause, **measured: Any) -> Deviation:
        """The row of a deviation; what is not given was not measured."""
        shown = self.graph.rows[self.node]
        values: dict[str, Any] = dict.fromkeys(
            ("differ", "max_ulp", "eager_off", "own_off", "noise")
        )
        values |= {"elements": 0, "dtype": shown.dtype or "", **measured}
        file, line = self.graph.find_line(self.inside)
        named = dict.fromkeys(self.graph.shown.get(name, name) for name in self.inside)
        verdict = judge(cause, values["eager_off"], values["own_off"], values["noise"])
        return Deviation(
            stage=self.stage,
            kernel=self.kernel,
            part=self.part,
            node=self.graph.shown.get(self.node, self.node),
            graph=self.graph.id,
            file=file,
            line=line,
            operators=self.operators[:MOST_NAMED],
            cause=cause.name,
            detail=cause.detail,
            option=cause.option,
            verdict=verdict,
            cone=tuple(named)[-_MOST_NODES:],
            **values,
        )


def compare_value(place: Place, got: Any) -> Deviation | None:
    """What a kernel left beside its node; None where both are equal bit for bit."""
    try:
        eager = place.compute(Precision.SAME)
    except CannotCompute as error:
        return place.row(Cause(UNKNOWN, str(error)))
    if not is_comparable(got, eager) or is_equal(got, eager):
        return None
    low = place.graph.name_low(tuple(n for n in place.inside if n != place.node))
    try:
        exact, late = place.compute(Precision.WIDE), place.compute(Precision.UPCAST)
    except CannotCompute as error:
        apart = measure_apart(got, eager)
        why = f"no float64 value ({error})"
        return place.row(
            Cause(UNKNOWN, why),
            elements=apart.elements,
            differ=apart.differ,
            max_ulp=apart.max_ulp,
            histogram=apart.histogram,
        )
    return _measured_row(place, got, eager, exact, late, low)


def _measured_row(
    place: Place,
    got: torch.Tensor,
    eager: torch.Tensor,
    exact: torch.Tensor,
    late: torch.Tensor,
    low: tuple[str, ...],
) -> Deviation:
    dtype, apart = got.dtype, measure_apart(got, eager)
    products = tuple(name for name in place.operators if find_factors(name) is not None)
    to_tf32 = inf
    scale = 0.0 if bool(exact.any()) else place.find_scale()
    kinds = compare_kinds(got, eager, exact, late, dtype)
    rounded = late.to(dtype)
    pick, shared = _pick_finite(got, exact), _pick_finite(got, exact, eager)
    kept = _pick_finite(got, exact, rounded)
    own, other, true = shared(got), shared(eager), shared(exact)
    if place.tf32 is not None and products:
        to_tf32 = measure_off(own, shared(place.compute(place.tf32)), dtype, scale)
    noise = place.measure_noise(exact, dtype, scale)
    measured = Measured(
        operators=place.operators,
        eager_off=measure_off(other, true, dtype, scale),
        own_off=measure_off(pick(got), pick(exact), dtype, scale),
        to_eager=measure_off(own, other, dtype, scale),
        to_upcast=measure_off(kept(got), kept(rounded), dtype, scale),
        low=low,
        is_float=dtype.is_floating_point or dtype.is_complex,
        differ=apart.differ,
        is_library=place.is_library,
        to_tf32=to_tf32,
        products=products,
        own_lost=kinds.own,
        eager_lost=kinds.eager,
        both_lost=kinds.both,
        late_lost=kinds.late,
        zeros_off=_measure_zeros(place, own, (other, true, shared(late)), dtype),
        noise=noise,
        is_decided=place.has_floats,
    )
    cause = classify(measured)
    if beside := place.reference:
        cause = replace(cause, detail="; ".join(filter(None, (cause.detail, beside))))
    return place.row(
        cause,
        elements=apart.elements,
        differ=apart.differ,
        max_ulp=apart.max_ulp,
        eager_off=measure_off(eager, exact, dtype, scale),
        own_off=measure_off(got, exact, dtype, scale),
        noise=noise,
        histogram=apart.histogram,
        exact_histogram=measure_apart(got, exact.to(dtype)).histogram,
        never_rounded=low,
    )


def _pick_finite(*values: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """Takes the elements that are finite in all of them."""
    lost = sum(name_kinds(value) for value in values)
    if not isinstance(lost, torch.Tensor) or not bool(lost.any()):
        return lambda value: value
    finite = lost == 0
    if values[0].is_complex():
        finite = finite.all(-1)
    return lambda value: value[finite]


def _measure_zeros(
    place: Place, own: torch.Tensor, others: Sequence[torch.Tensor], dtype: torch.dtype
) -> float:
    """How far a value is from 0 where every precision gives 0, in roundings of what is inside.

    There rounding to 16 bits changes nothing: what is left is that of a kernel, in float32.
    """
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    zeros = own[torch.stack([other == 0 for other in others]).all(0)]
    if not bool(zeros.any()):
        return 0.0
    inner = torch.float32 if dtype in LOW else dtype
    return measure_off(zeros, torch.zeros_like(zeros), inner, place.find_scale())


@dataclass(frozen=True)
class TwoWays:
    """A value by the nodes of two graphs, from the same inputs."""

    before: Place
    after: Place

    def measure(self) -> tuple[float, dict[str, Any]] | None:
        """The relative distance in float64, and what was measured; None where nothing departs.

        Raises `CannotCompute`.
        """
        old, new = self.before.compute(Precision.SAME), self.after.compute(Precision.SAME)
        return self.measure_from(old, new)

    def measure_from(self, old: Any, new: Any) -> tuple[float, dict[str, Any]] | None:
        """The same from the values as eager rounds them."""
        if not is_comparable(old, new) or old.dtype.is_complex:
            return None
        is_same = is_equal(old, new)
        if is_same and (old.dtype not in LOW or len(self.after.inside) == 1):
            return None
        exact, wide = self.before.compute(Precision.WIDE), self.after.compute(Precision.WIDE)
        scale = 0.0 if bool(exact.any()) else self.before.find_scale()
        is_known = is_comparable(exact, wide)
        gap = measure_relative(wide, exact, scale) if is_known else 0.0
        if is_same and gap <= FORMULA_CHANGED:
            return None
        apart, dtype = measure_apart(new, old), old.dtype
        return gap, {
            "elements": apart.elements,
            "differ": apart.differ,
            "max_ulp": apart.max_ulp,
            "histogram": apart.histogram,
            "exact_histogram": measure_apart(new, exact.to(dtype)).histogram,
            "eager_off": measure_off(old, exact, dtype, scale),
            "own_off": measure_off(new, exact, dtype, scale),
            "noise": self.before.measure_noise(exact, dtype, scale),
        }
