"""Numbers of two compilations: traffic, resources on a GPU, choices of the autotuner, times."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from workbench.analysis.diff.difference import (
    ALL,
    EAGER,
    UNFUSED,
    WHOLE,
    Change,
    KernelMatch,
    get_label,
    kernels_of,
    name_relation,
)
from workbench.analysis.diff.kernel_matching import moved
from workbench.analysis.fusion.fusion import count_eager_bytes
from workbench.analysis.fusion.traffic import count_moved_bytes, count_operation_bytes, sum_known
from workbench.report import Kernel, Report
from workbench.report.machine_rows import MatrixCell, Resources
from workbench.report.measures import measure_compile_seconds, measures

_NUMBER = re.compile(r"_\d+$")
_UNITS = {"B": "bytes", "share": "share"}
FIGURES = {
    name: _UNITS.get(measure.unit, "")
    for name, measure in {**measures(MatrixCell), **measures(Resources)}.items()
    if hasattr(Resources, name)
}
"""What is compared of two kernels on a GPU, each with its unit; counts have none."""


def compare_traffic(
    a: Report, b: Report, matches: Sequence[KernelMatch]
) -> Iterator[Change | None]:
    """DRAM traffic of one call, of all kernels and of each match, by Inductor's own model."""
    left, right = kernels_of(a), kernels_of(b)
    one, other = (sum_known(map(count_moved_bytes, side.values())) for side in (left, right))
    yield _number("traffic", ALL, one, other, "bytes")
    for item, counted in ((EAGER, count_eager_bytes), (UNFUSED, count_operation_bytes)):
        one, other = counted(a), counted(b)
        if one is not None and other is not None:  # unknown where sizes are symbolic
            yield _number("traffic", item, one, other, "bytes")
    for match in matches:
        ones, others = match.rows(left, right)
        moved_a, moved_b = moved(ones), moved(others)
        yield _number("traffic", _label(ones, others), moved_a, moved_b, "bytes", *match.ids)


def compare_resources(
    a: Report, b: Report, matches: Sequence[KernelMatch]
) -> Iterator[Change | None]:
    """What pairs of kernels take of a GPU, each in its first configuration."""
    left, right = ({row.kernel: row for row in [*r.resources][::-1]} for r in (a, b))
    names = {kernel.id: get_label(kernel) for kernel in a.kernels}
    for match in matches:
        if len(match.a) != 1 or len(match.b) != 1:
            continue
        i, j = match.a[0], match.b[0]
        if i not in left or j not in right:
            continue
        for figure, unit in FIGURES.items():
            one, other = getattr(left[i], figure), getattr(right[j], figure)
            if one is not None or other is not None:
                item = f"{i} ({names[i]}): {figure}"
                yield _number("resources", item, one, other, unit, i, j)
        choices = left[i].choice, right[j].choice
        if choices[0] != choices[1]:
            item = f"{i} ({names[i]}): configuration"
            yield Change("resources", item, "changed", *choices, id_a=i, id_b=j)


def compare_autotune(a: Report, b: Report) -> Iterator[Change | None]:
    """Operations for which another choice won, or which only one of them tuned."""
    left, right = ({row.op: row for row in r.autotune if row.chosen} for r in (a, b))
    for op in dict.fromkeys([*left, *right]):
        one, other = left.get(op), right.get(op)
        if one and other and _NUMBER.sub("", one.choice) == _NUMBER.sub("", other.choice):
            yield None
            continue
        names = (one.choice if one else None), (other.choice if other else None)
        ids = (one.id if one else None), (other.id if other else None)
        yield Change("autotune", op, name_relation(one, other), *names, "", "", *ids)


def time_changes(a: Report, b: Report, matches: Sequence[KernelMatch]) -> Iterator[Change]:
    """Measured times of matched kernels, where both were profiled."""
    left, right = kernels_of(a), kernels_of(b)
    one, other = _time(left.values()), _time(right.values())
    if one is None or other is None:
        return
    yield _measured("times", ALL, one, other, "us")
    for match in matches:
        ones, others = match.rows(left, right)
        before, after = _time(ones), _time(others)
        if before is not None or after is not None:
            yield _measured("times", _label(ones, others), before, after, "us", *match.ids)


def compare_phases(a: Report, b: Report) -> list[Change]:
    """Seconds inside of each phase, without the phases in it; the longest difference first."""
    left, right = _phases(a), _phases(b)
    if not left or not right:
        return []
    changes = [
        _measured("phases", name, left.get(name), right.get(name), "s")
        for name in dict.fromkeys([*left, *right])
    ]
    changes.sort(key=lambda c: -abs(float(c.b or 0) - float(c.a or 0)))
    # threads work side by side: the phases of all of them take longer than the compilation
    one, other = (
        measure_compile_seconds((p.start_s, p.duration_s) for p in r.phases) for r in (a, b)
    )
    return [_measured("phases", WHOLE, one, other, "s"), *changes]


def _measured(
    part: str, item: str, a: float | None, b: float | None, unit: str, *ids: str | None
) -> Change:
    change = name_relation(a, b)
    if a is not None and b is not None:
        change = "more" if b > a else "less"
    return Change(part, item, change, a, b, unit, "", *ids)


def _number(
    part: str, item: str, a: float | None, b: float | None, unit: str, *ids: str | None
) -> Change | None:
    return None if a == b else _measured(part, item, a, b, unit, *ids)


def _label(ones: Sequence[Kernel], others: Sequence[Kernel]) -> str:
    words = dict.fromkeys(get_label(kernel) for kernel in ones or others)
    return f"{', '.join(k.id for k in ones or others)} ({', '.join(words)})"


def _time(kernels: Iterable[Kernel]) -> float | None:
    """µs of one call; a kernel that is called several times was measured as their sum."""
    return sum_known(kernel.time_us for kernel in kernels)


def _phases(report: Report) -> Mapping[str, float]:
    seconds: dict[str, float] = defaultdict(float)
    for phase in report.phases:
        seconds[phase.name] += phase.self_s
    return seconds
