"""Measures one value of one part against eager's nodes, and makes the row of its deviation."""

from __future__ import annotations

from collections.abc import Mapping
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
    is_comparable,
    is_equal,
    measure_apart,
    measure_off,
    measure_relative,
)
from workbench.compiler.numerics.noise_floor import measure_noise
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

    def measure_noise(self, exact: torch.Tensor, dtype: torch.dtype) -> float | None:
        """What noise on `known` does to the value; see `measure_noise`."""
        return measure_noise(self.graph, self.known, self.node, exact, dtype)

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
    if place.tf32 is not None and products:
        to_tf32 = measure_off(got, place.compute(place.tf32), dtype)
    found = Measured(
        operators=place.operators,
        eager_off=measure_off(eager, exact, dtype),
        own_off=measure_off(got, exact, dtype),
        to_eager=measure_off(got, eager, dtype),
        to_upcast=measure_off(got, late.to(dtype), dtype),
        low=low,
        is_float=dtype.is_floating_point or dtype.is_complex,
        differ=apart.differ,
        is_library=place.is_library,
        to_tf32=to_tf32,
        products=products,
    )
    cause = classify(found)
    if beside := place.reference:
        cause = replace(cause, detail="; ".join(filter(None, (cause.detail, beside))))
    return place.row(
        cause,
        elements=apart.elements,
        differ=apart.differ,
        max_ulp=apart.max_ulp,
        eager_off=found.eager_off,
        own_off=found.own_off,
        noise=place.measure_noise(exact, dtype),
        histogram=apart.histogram,
        exact_histogram=measure_apart(got, exact.to(dtype)).histogram,
        never_rounded=low,
    )


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
        gap = measure_relative(wide, exact) if is_comparable(exact, wide) else 0.0
        if is_same and gap <= FORMULA_CHANGED:
            return None
        apart, dtype = measure_apart(new, old), old.dtype
        return gap, {
            "elements": apart.elements,
            "differ": apart.differ,
            "max_ulp": apart.max_ulp,
            "histogram": apart.histogram,
            "exact_histogram": measure_apart(new, exact.to(dtype)).histogram,
            "eager_off": measure_off(old, exact, dtype),
            "own_off": measure_off(new, exact, dtype),
            "noise": self.before.measure_noise(exact, dtype),
        }
