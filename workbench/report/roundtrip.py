"""A round trip: a saved file in fresh processes, in several start-up modes, and eager."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.errors import BudgetError, UsageError, suggest
from workbench.number_text import number_text
from workbench.report.file_rows import PHASES, RoundTripLeaf, RoundTripPhase, RoundTripWay
from workbench.report.presenter import FormerTable, Presented, presenter
from workbench.report.record import Report
from workbench.report.table import Table
from workbench.typed_data import read_row

if TYPE_CHECKING:
    import pandas

SCHEMA = 1
FIGURES = ("imports", "load", "first_call", "first_result", "total", "steady", "steady_p99")
"""The times of a start-up mode that can have a budget, in addition to each of its phases."""
_TABLES = {"ways": RoundTripWay, "phases": RoundTripPhase, "leaves": RoundTripLeaf}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_WRITTEN = re.compile(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*([a-zµμ]+)\s*")


@dataclass(frozen=True, repr=False)
class MissedBudget(Presented):
    """A time that takes longer than it may; both in seconds."""

    name: str
    value: float
    limit: float


def parse_seconds(name: str, value: str | float) -> float:
    """The seconds that `"100ms"`, `"85 us"` or `1.5` (seconds) stand for.

    Raises `UsageError` naming the budget when it is no duration.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    match = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in _SECONDS:
        raise UsageError(
            f'The budget {name}={value!r} is not a duration: pass "85us", "100ms", "1.5s", or a '
            "number of seconds."
        )
    return float(match[1]) * _SECONDS[match[2]]


@dataclass(frozen=True, repr=False)
class RoundTrip(Presented):
    """Hold the results of a file in fresh processes: times and outputs, compared with eager's.

    Every start-up mode runs the same call in its own process with an empty cache folder. Only
    torch.compile with a warm cache uses a folder that another process has filled. Times are seconds
    of one run: repeat it before comparing small differences. `saved_s` is the time to write the
    file here, None for an existing package.
    """

    name: str
    file: str
    size: int
    digest: str
    ways: tuple[RoundTripWay, ...]
    phases: tuple[RoundTripPhase, ...]
    leaves: tuple[RoundTripLeaf, ...]
    saved_s: float | None = None
    notes: tuple[str, ...] = ()
    report: Report = field(default_factory=Report, compare=False)

    @property
    def ok(self) -> bool:
        """Whether ours ran (if requested), and outputs and effects agree with eager's.

        Never true if nothing could be compared, or something was not checked.
        """
        ran = all(way.ran for way in self.ways if way.way == "ours")
        return ran and bool(self.leaves) and all(leaf.ok for leaf in self.leaves)

    @checked
    def way(self, name: str) -> RoundTripWay:
        """Return one start-up mode; raises `UsageError` if it was not requested."""
        for way in self.ways:
            if way.way == name:
                return way
        known = ", ".join(way.way for way in self.ways)
        raise UsageError(f"This round trip has no start-up mode {name!r}; choose one of {known}.")

    table = FormerTable("ways")

    @checked
    def frame(self, name: str = "phases") -> pandas.DataFrame:
        """Return the `ways`, their `phases` or the `leaves` of their outputs as a DataFrame.

        `ways` has a row for each start-up mode: times in seconds, errors, why it did not run.
        """
        if name not in _TABLES:
            raise UsageError(
                f"Table {name!r} does not exist; choose one of {', '.join(_TABLES)}."
                f"{suggest(name, _TABLES)}"
            )
        return presenter().rows_frame(getattr(self, name), _TABLES[name])

    @checked
    def seconds(self, name: str, way: str = "ours") -> float | None:
        """Return a time of a start-up mode: one of `FIGURES` or a phase; None if it has none.

        Raises `UsageError` when there is no such time.
        """
        row = self.way(way)
        if name in FIGURES:
            return getattr(row, f"{name}_s")  # type: ignore[no-any-return]
        if name not in PHASES:
            known = ", ".join(dict.fromkeys((*FIGURES, *PHASES)))
            raise UsageError(f"Time {name!r} does not exist; choose one of {known}.")
        return next((p.duration_s for p in self.phases if (p.way, p.phase) == (way, name)), None)

    @checked
    def require(self, way: str = "ours", **budgets: str | float) -> RoundTrip:
        """Check a start-up mode against budgets such as `first_call="100ms"`; returns itself.

        The names are those that `seconds` takes; a number such as `load=0.05` is in seconds. Raises
        `BudgetError` with each missed budget and by how much. It also raises if the start-up mode
        did not run or its outputs differ from eager's.
        """
        limits = {name: parse_seconds(name, value) for name, value in budgets.items()}
        seconds = {name: self.seconds(name, way) for name in limits}
        row = self.way(way)
        missed: list[str] = []
        if not row.ran:
            missed.append(f"{way} did not run: {row.note}")
        elif row.ok is not True:
            missed += [
                f"{leaf.leaf} differs from eager by "
                f"{number_text(leaf.max_abs_error, 'difference')}{leaf.note and f' ({leaf.note})'}"
                if leaf.checked
                else f"{leaf.leaf} was not checked: {leaf.note}"
                for leaf in self.leaves
                if leaf.way == way and not leaf.ok
            ] or [f"the outputs of {way} could not be compared with eager's"]
        for name, limit in limits.items():
            value = seconds[name]
            if value is not None and value > limit:
                missed.append(repr(MissedBudget(name, value, limit)))
        if missed:
            listed = "".join(f"\n  - {line}" for line in missed)
            raise BudgetError(
                f"The round trip of {self.name} misses the requirements of {way}:{listed}\n"
                "See .frame('phases') for the time of each phase, or raise the budget."
            )
        return self

    def filled(self) -> Report:
        """Return the report with the tables of this round trip."""
        tables: dict[str, Table[Any]] = {
            "roundtrip": Table.of(RoundTripWay, self.ways),
            "roundtrip_phases": Table.of(RoundTripPhase, self.phases),
            "roundtrip_leaves": Table.of(RoundTripLeaf, self.leaves),
        }
        return replace(self.report, tables={**self.report.tables, **tables})

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready data, without the report."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "report"}
        rows = {name: [asdict(row) for row in plain[name]] for name in _TABLES}
        return {"schema": SCHEMA, **plain, "notes": list(self.notes), **rows}

    @classmethod
    @checked
    def from_json(cls, data: Mapping[str, Any]) -> RoundTrip:
        """Read what `to_json` wrote; raises `Misfit` for anything else."""
        return read_row(cls, data)
