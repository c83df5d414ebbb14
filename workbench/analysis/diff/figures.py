"""Numbers of two compilations: traffic, resources on a GPU, choices of the autotuner, times."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from workbench.analysis.diff.difference import Change, KernelMatch
from workbench.analysis.diff.kernels import label_of, moved
from workbench.analysis.fusion.operations import operation_traffic
from workbench.report import AutotuneChoice, Kernel, Report
from workbench.report.machine_rows import Resources

ALL = "all kernels"
UNFUSED = "every operation alone"
WHOLE = "the whole compilation"
_NUMBER = re.compile(r"_\d+$")
_FIGURES = {
    "registers": "",
    "spills": "",
    "stack": "bytes",
    "smem_bytes": "bytes",
    "occupancy": "share",
    "instructions": "",
    "warps": "",
    "stages": "",
}


def traffic_changes(
    a: Report, b: Report, matches: Sequence[KernelMatch]
) -> tuple[list[Change], int]:
    """DRAM traffic of one call, of all kernels and of each match, by Inductor's own model."""
    left, right = ({k.id: k for k in report.kernels} for report in (a, b))
    totals = [(ALL, _all_bytes(a), _all_bytes(b))]
    alone = [operation_traffic(report) for report in (a, b)]
    one, other = (None if part is None else part.before for part in alone)
    if one is not None and other is not None:  # unknown where sizes are symbolic
        totals.append((UNFUSED, one, other))
    found = [
        change
        for item, one, other in totals
        if (change := _number("traffic", item, one, other, "bytes"))
    ]
    same = len(totals) - len(found)
    for match in matches:
        ones, others = [left[id] for id in match.a], [right[id] for id in match.b]
        bytes_a, bytes_b = moved(ones), moved(others)
        ids = ",".join(match.a) or None, ",".join(match.b) or None
        change = _number("traffic", _label(ones, others), bytes_a, bytes_b, "bytes", *ids)
        found += [change] if change else []
        same += change is None
    return found, same


def _all_bytes(report: Report) -> int | None:
    """Bytes of all kernels that are known."""
    known = [size for kernel in report.kernels if (size := moved([kernel])) is not None]
    return sum(known) if known else None


def resource_changes(
    a: Report, b: Report, matches: Sequence[KernelMatch]
) -> tuple[list[Change], int]:
    """What pairs of kernels take of a GPU, each in its first configuration."""
    left, right = _resources(a), _resources(b)
    names = {kernel.id: label_of(kernel) for kernel in a.kernels}
    found: list[Change] = []
    same = 0
    for match in matches:
        if len(match.a) != 1 or len(match.b) != 1:
            continue
        i, j = match.a[0], match.b[0]
        if i not in left or j not in right:
            continue
        for figure, unit in _FIGURES.items():
            one, other = _figure(left[i], figure), _figure(right[j], figure)
            change = _number("resources", f"{i} ({names[i]}): {figure}", one, other, unit, i, j)
            found += [change] if change else []
            same += change is None and one is not None
        if left[i].choice != right[j].choice:
            found.append(
                Change("resources", f"{i} ({names[i]}): configuration", "changed",
                       left[i].choice, right[j].choice, id_a=i, id_b=j)
            )  # fmt: skip
    return found, same


def autotune_changes(a: Report, b: Report) -> tuple[list[Change], int]:
    """Operations for which another choice won, or which only one of them tuned."""
    left, right = _winners(a), _winners(b)
    found: list[Change] = []
    same = 0
    for op in dict.fromkeys([*left, *right]):
        one, other = left.get(op), right.get(op)
        names = (one.choice if one else None), (other.choice if other else None)
        if one and other and _NUMBER.sub("", one.choice) == _NUMBER.sub("", other.choice):
            same += 1
            continue
        change = "changed" if one and other else "removed" if one else "added"
        ids = (one.id if one else None), (other.id if other else None)
        found.append(Change("autotune", op, change, *names, "", "", *ids))
    return found, same


def time_changes(a: Report, b: Report, matches: Sequence[KernelMatch]) -> list[Change]:
    """Measured times of matched kernels, where both were profiled."""
    left, right = ({k.id: k for k in report.kernels} for report in (a, b))
    one, other = (_time(list(side.values())) for side in (left, right))
    if one is None or other is None:
        return []
    found = [_measured("times", ALL, one, other, "us")]
    for match in matches:
        ones, others = [left[id] for id in match.a], [right[id] for id in match.b]
        before, after = _time(ones), _time(others)
        if before is not None or after is not None:
            ids = ",".join(match.a) or None, ",".join(match.b) or None
            found.append(_measured("times", _label(ones, others), before, after, "us", *ids))
    return found


def phase_changes(a: Report, b: Report) -> list[Change]:
    """Seconds inside of each phase, without the phases in it; the longest difference first."""
    left, right = _phases(a), _phases(b)
    if not left or not right:
        return []
    found = [
        _measured("phases", name, left.get(name), right.get(name), "s")
        for name in dict.fromkeys([*left, *right])
    ]
    found.sort(key=lambda c: -abs(float(c.b or 0) - float(c.a or 0)))
    return [_measured("phases", WHOLE, sum(left.values()), sum(right.values()), "s"), *found]


def _measured(
    part: str, item: str, a: float | None, b: float | None, unit: str, *ids: str | None
) -> Change:
    if a is None or b is None:
        change = "added" if a is None else "removed"
    else:
        change = "more" if b > a else "less"
    return Change(part, item, change, a, b, unit, "", *ids)


def _number(
    part: str, item: str, a: float | None, b: float | None, unit: str, *ids: str | None
) -> Change | None:
    return None if a == b else _measured(part, item, a, b, unit, *ids)


def _label(ones: Sequence[Kernel], others: Sequence[Kernel]) -> str:
    words = dict.fromkeys(label_of(kernel) for kernel in ones or others)
    return f"{', '.join(k.id for k in ones or others)} ({', '.join(words)})"


def _time(kernels: Sequence[Kernel]) -> float | None:
    """µs of one call; a kernel that is called several times was measured as their sum."""
    known = [kernel.time_us for kernel in kernels if kernel.time_us is not None]
    return sum(known) if known else None


def _resources(report: Report) -> dict[str, Resources]:
    found: dict[str, Resources] = {}
    for row in report.resources:
        found.setdefault(row.kernel, row)
    return found


def _figure(row: Resources, figure: str) -> float | None:
    if figure == "spills":
        return _sum(row.spill_stores, row.spill_loads)
    if figure == "smem_bytes":
        return _sum(row.smem_static, row.smem_dynamic)
    value: float | None = getattr(row, figure)
    return value


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _winners(report: Report) -> dict[str, AutotuneChoice]:
    return {row.op: row for row in report.autotune if row.chosen}


def _phases(report: Report) -> Mapping[str, float]:
    found: dict[str, float] = defaultdict(float)
    for phase in report.phases:
        found[phase.name] += phase.self_s
    return found
