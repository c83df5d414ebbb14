"""Measures one value of one part against eager's nodes, and makes the row of its deviation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import torch

from workbench.analysis.numerics.causes import (
    FORMULA_CHANGED,
    UNKNOWN,
    Cause,
    Measured,
    classify,
    judge,
)
from workbench.compiler.numerics.cones import CannotCompute, Cone, is_random, name_operator
from workbench.compiler.numerics.distances import (
    compare_kinds,
    find_scale,
    is_comparable,
    is_equal,
    measure_apart,
    measure_noise,
    measure_off,
    measure_relative,
    name_kinds,
)
from workbench.compiler.numerics.precisions import LOW, Precision, find_factors
from workbench.compiler.numerics.recorded_stages import StageGraph
from workbench.compiler.numerics.users_launches import UsersLaunch, UsersReference
from workbench.report.numerics.numerics_rows import Deviation

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
            return "beside its reference"
        source = self.graph.nodes.get(getattr(node.args[0], "name", "")) if node.args else None
        if source is None or not isinstance(source.target, UsersLaunch):
            return ""
        return f"its argument {node.args[1]} beside its reference"

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
        given: dict[str, Any] = dict.fromkeys(
            ("differ", "max_ulp", "eager_off", "own_off", "noise")
        )
        given |= {"elements": 0, "dtype": shown.dtype or "", **measured}
        file, line = self.graph.find_line(self.inside)
        named = dict.fromkeys(self.graph.shown.get(name, name) for name in self.inside)
        verdict = judge(cause, given["eager_off"], given["own_off"], given["noise"])
        return Deviation(
            stage=self.stage, kernel=self.kernel, part=self.part,
            node=self.graph.shown.get(self.node, self.node),
            graph=self.graph.id, file=file, line=line,
            operators=self.operators[:MOST_NAMED], cause=cause.name, detail=cause.detail,
            option=cause.option, verdict=verdict, cone=tuple(named)[-_MOST_NODES:], **given,
        )  # fmt: skip


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
        why = f"no value in float64 ({error})"
        return place.row(
            Cause(UNKNOWN, why), elements=apart.elements, differ=apart.differ,
            max_ulp=apart.max_ulp, histogram=apart.histogram,
        )  # fmt: skip
    return _measured_row(place, got, eager, exact, late, low)


def _measured_row(
    place: Place, got: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor, late: torch.Tensor,
    low: tuple[str, ...],
) -> Deviation:  # fmt: skip
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
    found = Measured(
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
    cause = classify(found)
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
    kept = lost == 0
    if values[0].is_complex():
        kept = kept.all(-1)
    return lambda value: value[kept]


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
