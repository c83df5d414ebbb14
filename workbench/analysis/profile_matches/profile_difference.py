"""Two profiles beside each other: what takes more or less time, by module and by operator.

Modules are matched by the classes on their path, operators by their module, name and shapes. Two
profiles were not taken in turn, so that their times stand beside each other without a verdict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.number_text import number_text
from workbench.report.presenter import Presented, presenter
from workbench.report.profile.profile_rows import RanKernel, Sizes
from workbench.report.profile.run_profile import RunProfile

if TYPE_CHECKING:
    import pandas

_WRAPPERS = frozenset(("OptimizedModule", "DistributedDataParallel", "FullyShardedDataParallel"))
"""Modules that only stand around another: a profile with and one without them are alike."""
_MOST = 5
_STEP = "profiler step"


@dataclass(frozen=True)
class WholeChange:
    """One quantity of both profiles; `unit` is "us" or "count"."""

    what: str
    a: float
    b: float
    unit: str

    @property
    def words(self) -> str:
        """Both values, with their unit."""
        if self.unit == "count":
            return " → ".join(f"{value:,.0f}" for value in (self.a, self.b))
        return " → ".join(number_text(value * 1e-6, "seconds") for value in (self.a, self.b))


@dataclass(frozen=True)
class ModuleChange:
    """A module by the classes on its path; µs on the device and calls of kernels, of one step."""

    module: str
    a_us: float
    b_us: float
    difference_us: float
    a_kernels: float
    b_kernels: float


@dataclass(frozen=True)
class OperatorChange:
    """An operator with these shapes in a module, and the kernel that takes most of it in each."""

    module: str
    operator: str
    shapes: Sizes
    a_us: float
    b_us: float
    difference_us: float
    a_kernel: str
    b_kernel: str


class ProfileDiff(Presented):
    """What differs between two profiles, in µs on the device.

    `frame()` has the quantities of the whole, `frame("modules")` and `frame("operators")` the
    parts, those that differ most first. Where both have steps of the profiler, all is of one step.
    """

    def __init__(
        self,
        names: tuple[str, str],
        changes: tuple[WholeChange, ...],
        modules: tuple[ModuleChange, ...],
        operators: tuple[OperatorChange, ...],
    ):
        self.names, self.changes = names, changes
        self.modules, self.operators = modules, operators

    @checked
    def frame(self, name: str = "whole") -> pandas.DataFrame:
        """`whole`, `modules` or `operators`; raises `UsageError` for another name."""
        if name == "whole":
            return presenter().rows_frame(self.changes, WholeChange)
        if name == "modules":
            return presenter().rows_frame(self.modules, ModuleChange)
        if name == "operators":
            return presenter().rows_frame(self.operators, OperatorChange)
        raise UsageError(
            f"Two profiles have no table {name!r}: they have whole, modules, operators."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The quantities that differ, then the modules that differ most."""
        whole = (f"{one.what}: {one.words}" for one in self.changes if one.a != one.b)
        parts = (
            f"{one.module or 'outside of modules'}: {_us(one.a_us)} → {_us(one.b_us)}, "
            f"{one.a_kernels:,.0f} → {one.b_kernels:,.0f} kernels"
            for one in self.modules[:_MOST]
            if one.difference_us
        )
        return (*whole, *parts)

    def __repr__(self) -> str:
        """What differs; the two were not measured in turn."""
        a, b = self.names
        head = f"ProfileDiff({a} → {b}); not taken in turn, so without a verdict"
        return "\n".join((head, *(f"  {sentence}" for sentence in self.sentences)))


def _us(value: float) -> str:
    return number_text(value * 1e-6, "seconds")


def compare_profiles(
    a: RunProfile, b: RunProfile, names: tuple[str, str] | None = None
) -> ProfileDiff:
    """What differs between two profiles."""
    a, b = a.of_own_rank(), b.of_own_rank()
    steps = tuple(sum(row.kind == _STEP for row in each.tables["steps"]) for each in (a, b))
    of_one = steps if all(steps) else (1, 1)
    one, other = (
        {key: _Part(own, count) for key, own in _group(profile).items()}
        for profile, count in zip((a, b), of_one, strict=True)
    )
    return ProfileDiff(
        names or (_name(a), _name(b)),
        _compare_whole(a, b, of_one),
        _compare_modules(one, other, _find_compiled(a) | _find_compiled(b)),
        _compare_operators(one, other),
    )


def _name(profile: RunProfile) -> str:
    header = profile.header
    where = header.gpu or header.device_name
    return f"{header.source or 'profile'} on {where}" if where else header.source or "profile"


Key = tuple[str, str, Sizes]


class _Part:
    """Kernels of one operator in one module; `time_us` and `calls` are of one step."""

    def __init__(self, rows: Iterable[RanKernel], steps: int):
        rows = list(rows)
        self.time_us = sum(row.time_us for row in rows) / steps
        self.calls = sum(row.calls for row in rows) / steps
        self.kernel = max(rows, key=lambda row: row.time_us).name


def _path(row: RanKernel) -> str:
    return ".".join(part for part in row.module.split(".") if part and part not in _WRAPPERS)


def _find_compiled(profile: RunProfile) -> set[str]:
    """Modules that one graph computes: what they call is not told apart in it."""
    rows = profile.tables["kernels"]
    return {_path(row) for row in rows if row.compile_id or row.graph_key}


def _group(profile: RunProfile) -> dict[Key, list[RanKernel]]:
    groups: dict[Key, list[RanKernel]] = defaultdict(list)
    for row in profile.tables["kernels"]:
        groups[_path(row), row.operator or row.name, row.shapes].append(row)
    return groups


def _compare_whole(a: RunProfile, b: RunProfile, steps: tuple[int, ...]) -> tuple[WholeChange, ...]:
    suffix = ", one step" if steps != (1, 1) else ""
    both = list(zip((a, b), steps, strict=True))
    times = [
        (what, *(getattr(each, field) / count for each, count in both), "us")
        for what, field in (("in all", "total_us"), ("busy", "busy_us"), ("idle", "idle_us"))
    ]
    kernels, launches = (
        tuple(sum(row.calls for row in each.tables[table]) / count for each, count in both)
        for table in ("kernels", "launches")
    )
    rows = [*times, ("kernels", *kernels, "count"), ("launches", *launches, "count")]
    return tuple(
        WholeChange(f"{what}{suffix}", one, other, unit) for what, one, other, unit in rows
    )


def _compare_modules(
    a: Mapping[Key, _Part], b: Mapping[Key, _Part], compiled: set[str]
) -> tuple[ModuleChange, ...]:
    """Modules of both, each without those that it calls, unless a graph has all of it in one."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0] * 4)
    for side, parts in enumerate((a, b)):
        for (module, _, _), part in parts.items():
            own = sums[_find_whole(module, compiled)]
            own[side] += part.time_us
            own[2 + side] += part.calls
    rows = [
        ModuleChange(module, one, other, other - one, one_calls, other_calls)
        for module, (one, other, one_calls, other_calls) in sums.items()
    ]
    return tuple(sorted(rows, key=lambda row: -abs(row.difference_us)))


def _find_whole(module: str, compiled: set[str]) -> str:
    """The outermost module around one that is compiled as a whole, itself where none is."""
    parts = module.split(".")
    around = (".".join(parts[:end]) for end in range(1, len(parts)))
    return next((each for each in around if each in compiled), module)


def _compare_operators(
    a: Mapping[Key, _Part], b: Mapping[Key, _Part]
) -> tuple[OperatorChange, ...]:
    rows = []
    for key in dict.fromkeys((*a, *b)):
        one, other = a.get(key), b.get(key)
        a_us, b_us = (part.time_us if part else 0.0 for part in (one, other))
        kernels = (part.kernel if part else "" for part in (one, other))
        rows.append(OperatorChange(*key, a_us, b_us, b_us - a_us, *kernels))
    return tuple(sorted(rows, key=lambda row: -abs(row.difference_us)))
