"""Two profiles beside each other: what takes more or less time, by module and by operator.

Modules are matched by the classes on their path, operators by their module, name and shapes. Two
profiles were not taken in turn, so that their times stand beside each other without a verdict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.number_text import number_text, plural
from workbench.report.presenter import Presented, Viewed, presenter
from workbench.report.table import Table
from workbench.worlds.profiles.rows.profile_rows import RanKernel, Sizes
from workbench.worlds.profiles.rows.run_profile import RunProfile

if TYPE_CHECKING:
    from os import PathLike

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
    """An operator with these shapes in a module, and the kernel that takes most of it in each.

    A module that one of them compiled as a whole has the operators of all that it calls.
    """

    module: str
    operator: str
    shapes: Sizes
    a_us: float
    b_us: float
    difference_us: float
    a_kernel: str
    b_kernel: str


@dataclass(frozen=True)
class OneSided:
    """A kernel by its name that ran in one of the profiles only, `side` "a" or "b"; of one step."""

    side: str
    name: str
    calls: float
    time_us: float
    operator: str
    module: str


class ProfileDiff(Viewed, Presented):
    """Differences between two profiles, in µs of device time.

    `frame()` has the totals. `frame("modules")` and `frame("operators")` have the parts, the
    largest difference first. `frame("kernels")` has the kernels that ran in only one of them. If
    both have profiler steps, everything is per step.
    """

    def __init__(
        self,
        names: tuple[str, str],
        changes: tuple[WholeChange, ...],
        modules: tuple[ModuleChange, ...],
        operators: tuple[OperatorChange, ...],
        kernels: tuple[OneSided, ...] = (),
        notes: tuple[str, ...] = (),
        *,
        on_cpu: tuple[bool, bool] = (False, False),
    ):
        self.names, self.changes = names, changes
        self.modules, self.operators, self.kernels = modules, operators, kernels
        self.notes, self._on_cpu = notes, on_cpu

    @checked
    def frame(self, name: str = "whole") -> pandas.DataFrame:
        """Return one table: `whole`, `modules`, `operators` or `kernels`.

        Raises `UsageError` for another name.
        """
        if name not in self.tables:
            known = ", ".join(self.tables)
            raise UsageError(f"A profile difference has no table {name!r}: it has {known}.")
        table = self.tables[name]
        return presenter().rows_frame(table, table.row_type)

    @property
    def tables(self) -> Mapping[str, Table[Any]]:
        """Every table by name."""
        return {
            "whole": Table.of(WholeChange, self.changes),
            "modules": Table.of(ModuleChange, self.modules),
            "operators": Table.of(OperatorChange, self.operators),
            "kernels": Table.of(OneSided, self.kernels),
        }

    @property
    def what(self) -> str:
        """What the calls are of: "operator" where neither has work of a GPU, else "kernel"."""
        return name_work(all(self._on_cpu))

    @property
    def sentence(self) -> str:
        """Both times, the largest difference, and that there is no verdict."""
        whole = self.changes[0]
        share = (
            f" ({format_change(whole.b / whole.a - 1)})" if whole.a and whole.a != whole.b else ""
        )
        pieces = [f"{whole.words}{share} {whole.what}"]
        if self.modules and self.modules[0].difference_us:
            most = self.modules[0]
            where = most.module.rpartition(".")[2] or "outside modules"
            if most.a_us and most.b_us:
                times = f"{_us(most.a_us)} → {_us(most.b_us)}"
            else:
                times = f"{_us(most.a_us or most.b_us)}, only in {'a' if most.a_us else 'b'}"
            pieces.append(f"the largest difference: {where}, {times}")
        counts = [
            f"{plural(sum(row.side == side for row in self.kernels), name_work(on_cpu))} only in "
            f"{side}"
            for side, on_cpu in zip("ab", self._on_cpu, strict=True)
        ]
        return f"{'; '.join((*pieces, *counts))}. Not interleaved, so no verdict."

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentence, then the largest differences; empty if nothing differs."""
        whole = (f"{one.what}: {one.words}" for one in self.changes if one.a != one.b)
        parts = (
            f"{one.module or 'outside modules'}: {_us(one.a_us)} → {_us(one.b_us)}, "
            f"{one.a_kernels:,.0f} → {one.b_kernels:,.0f} {self.what}s"
            for one in self.modules[:_MOST]
            if one.difference_us
        )
        found = (*whole, *parts)
        return (self.sentence, *found) if found or self.kernels else ()

    def __repr__(self) -> str:
        """What differs; the two were not measured in turn."""
        a, b = self.names
        head = f"ProfileDiff({a} → {b}); not interleaved, so no verdict"
        return "\n".join((head, *(f"  {sentence}" for sentence in self.sentences[1:])))

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """A self-contained page, written to `path` when given."""
        return presenter().page(self, path)


def format_change(share: float) -> str:
    """A change as a signed part of what was before."""
    words = number_text(abs(share), "percent")
    return words if words.startswith("<") else f"{'+' if share > 0 else '−'}{words}"


def _us(value: float) -> str:
    return number_text(value * 1e-6, "seconds")


def compare_profiles(
    a: RunProfile, b: RunProfile, names: tuple[str, str] | None = None
) -> ProfileDiff:
    """What differs between two profiles."""
    a, b = a.of_own_rank(), b.of_own_rank()
    steps = tuple(sum(row.kind == _STEP for row in each.tables["steps"]) for each in (a, b))
    of_one = steps if all(steps) else (1, 1)
    compiled = _find_compiled(a) | _find_compiled(b)
    one, other = (
        {key: _Part(own, count) for key, own in _group(profile, compiled).items()}
        for profile, count in zip((a, b), of_one, strict=True)
    )
    notes = [f"{side}: {note}" for side, each in (("a", a), ("b", b)) for note in each.header.notes]
    if a.header.on_cpu != b.header.on_cpu:
        notes.insert(0, "One profile has no GPU work, so its times are CPU operator times.")
    return ProfileDiff(
        names or (_name(a), _name(b)),
        _compare_whole(a, b, of_one),
        _compare_modules(one, other),
        _compare_operators(one, other),
        _list_one_sided((a, b), of_one, compiled),
        tuple(notes),
        on_cpu=(a.header.on_cpu, b.header.on_cpu),
    )


def name_work(on_cpu: bool) -> str:
    """What ran: "operator" on a CPU, else "kernel"."""
    return "operator" if on_cpu else "kernel"


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


def _group(profile: RunProfile, compiled: set[str]) -> dict[Key, list[RanKernel]]:
    groups: dict[Key, list[RanKernel]] = defaultdict(list)
    for row in profile.tables["kernels"]:
        groups[_find_whole(row, compiled), row.operator or row.name, row.shapes].append(row)
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
    rows = [*times, (f"{name_work(a.header.on_cpu and b.header.on_cpu)}s", *kernels, "count")]
    if any(launches):
        rows.append(("launches", *launches, "count"))
    return tuple(
        WholeChange(f"{what}{suffix}", one, other, unit) for what, one, other, unit in rows
    )


def _compare_modules(a: Mapping[Key, _Part], b: Mapping[Key, _Part]) -> tuple[ModuleChange, ...]:
    """Modules of both, each without those that it calls, unless a graph has all of it in one."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0] * 4)
    for side, parts in enumerate((a, b)):
        for (module, _, _), part in parts.items():
            own = sums[module]
            own[side] += part.time_us
            own[2 + side] += part.calls
    rows = [
        ModuleChange(module, one, other, other - one, one_calls, other_calls)
        for module, (one, other, one_calls, other_calls) in sums.items()
    ]
    return tuple(sorted(rows, key=lambda row: -abs(row.difference_us)))


def _find_whole(row: RanKernel, compiled: set[str]) -> str:
    """The outermost module around it that is compiled as a whole, its own where none is."""
    module = _path(row)
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


def _list_one_sided(
    both: tuple[RunProfile, RunProfile], steps: tuple[int, ...], compiled: set[str]
) -> tuple[OneSided, ...]:
    """Kernels whose name only one of them has, those that take longest first."""
    named: list[dict[str, list[RanKernel]]] = []
    for profile in both:
        groups: dict[str, list[RanKernel]] = defaultdict(list)
        for row in profile.tables["kernels"]:
            groups[row.name].append(row)
        named.append(groups)
    rows = [
        OneSided(
            side,
            name,
            sum(row.calls for row in own) / count,
            sum(row.time_us for row in own) / count,
            (first := max(own, key=lambda row: row.time_us)).operator,
            _find_whole(first, compiled),
        )
        for side, mine, others, count in zip("ab", named, named[::-1], steps, strict=True)
        for name, own in mine.items()
        if name not in others
    ]
    return tuple(sorted(rows, key=lambda row: -row.time_us))
