"""A sweep: rows of settings with what was measured, as a table, charts, a page and an answer."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.artifacts.trials.store import Read, Store
from workbench.errors import UsageError
from workbench.file_path import check_file_path
from workbench.report.presenter import Presented, Viewed, by_former_name, presenter
from workbench.report.record import Report
from workbench.report.rivals import Rivals
from workbench.report.trials import Trial, apart
from workbench.worlds.sweeps.rows.stored_sweeps import StoredSweep, list_stored, read_stored

if TYPE_CHECKING:
    import anywidget
    import matplotlib.figure
    import pandas

    from workbench.analysis.diff.difference import Diff
    from workbench.worlds.sweeps.recommendation import Recommendation

CHARTS = ("heat", "parallel", "pareto", "distribution")
"""The charts of a sweep: two axes as a heat map, every axis side by side, speed-up against compile
time, and the rounds of each setting."""
_TABLE_ENDINGS = (".csv", ".parquet")
_STORE_ENDINGS = (".sqlite", ".sqlite3", ".db")


@dataclass(frozen=True)
class Sweep(Viewed, Presented):
    """Hold the results of many configurations.

    `name` is the function, `expression` its expression in code, and `axes` the values of each axis
    as texts in the given order. `sizes` are the axes that determine the inputs; `trials` are the
    rows in the order of the configurations. `from_store` counts rows that did not run again.
    `notes` are for the reader, such as why the store was not used. `read` returns the report of a
    row; `view` is the live view that has followed the sweep.

    Examples
    --------
    >>> sweep = wb.sweep(f, (x,), over={"mode": ["default", "max-autotune"]}, measure_s=0.1)
    >>> list(sweep.frame()["status"])
    ['done', 'done']
    >>> sweep.export("f.csv")
    >>> wb.Sweep.load("f.csv")
    Sweep(f over mode (2): 2 done)
    """

    name: str
    axes: Mapping[str, tuple[str, ...]]
    sizes: tuple[str, ...]
    trials: tuple[Trial, ...]
    seconds: float = field(default=0.0, compare=False)
    from_store: int = field(default=0, compare=False)
    notes: tuple[str, ...] = ()
    expression: str = "fn"
    read: Read | None = field(default=None, repr=False, compare=False)
    view: anywidget.AnyWidget | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.trials)

    def frame(self) -> pandas.DataFrame:
        """Return a row for each configuration: axes, status, and every figure with its unit."""
        return presenter().frame(self)

    @checked
    def choices(self, rows: Sequence[int | Trial] | None = None) -> pandas.DataFrame:
        """Return every choice inside the kernels: a row for each that was timed or modelled.

        After the axes come `op`, `choice`, `kind`, `time_us` (of the choice alone, by Inductor's
        autotuner), `against_best`, `chosen`, `is_model` (nothing was timed) and `why` it was
        dropped. `rows` selects configurations by number.
        """
        return presenter().frame(self, "choices", rows)

    @checked
    def rivals(self, row: int | Trial) -> tuple[Rivals, ...]:
        """Return the two best choices of each tuned operation of one row, with their code."""
        return self.report(row).rivals()

    @checked
    def best(
        self,
        objective: str = "latency",
        constraint: Mapping[str, Any] | Callable[[Trial], bool] | None = None,
    ) -> Recommendation:
        """Recommend a configuration, with the reason, the confidence, and the line of code for it.

        `objective` is "latency", "throughput" (of the first size, such as the batch), "first_call"
        or "memory". `constraint` is a function of a row, or maps an axis to its value and figures
        to limits, such as `{"batch": 8, "peak_bytes": "<= 2e6"}`. Raises `UsageError` if no row
        fits.
        """
        from workbench.worlds.sweeps.recommendation import choose_recommended

        return choose_recommended(
            self.trials, self.sizes, self.expression, objective=objective, constraint=constraint
        )

    @checked
    def plot(self, chart: str = "pareto", **choice: Any) -> matplotlib.figure.Figure:
        """Draw one of the charts `heat`, `parallel`, `pareto` and `distribution`.

        A heat map takes `x=` and `y=`, the names of two axes, and `metric=`, a column of `frame()`.
        Raises `UsageError` for an unknown chart, axis or metric.
        """
        metric = by_former_name(
            "figure", "metric", choice.pop("figure", None), choice.pop("metric", None)
        )
        if metric is not None:
            choice["metric"] = metric
        return presenter().plot(self, chart, **choice)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a page with the table and the charts, written to `path`; it needs no network."""
        return presenter().page(self, path)

    def __getstate__(self) -> dict[str, Any]:
        """Return the results, without the store and the view, which belong to this process."""
        return {**vars(self), "read": None, "view": None}

    @checked
    def export(self, path: str | PathLike[str]) -> None:
        """Write it for other programs: `.csv`, `.parquet`, or `.sqlite` with the reports of rows.

        An `.sqlite` file is a store: existing content is kept, and `wb.sweep(store=…)` reads from
        it. A table has the columns of `frame()` and further ones for `load`. Parquet needs pyarrow
        (`aot-workbench[parquet]`). Raises `UsageError` for another ending, `ArtifactError` if
        nothing can be written.
        """
        file = check_file_path(path)
        if not file.lower().endswith(_STORE_ENDINGS):
            presenter().export(self, file)
            return
        content = [self.name, list(self.axes), [trial.key for trial in self.trials]]
        id = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
        is_new = not Path(file).exists()
        try:  # all rows with their records, or none
            with Store(file) as store, store.at_once():
                for trial in self.trials:
                    store.keep(id, trial, None if self.read is None else self.read(trial))
                note(self, store, id)
        except BaseException:
            for ending in ("", "-wal", "-shm") if is_new else ():
                Path(f"{file}{ending}").unlink(missing_ok=True)
            raise

    @staticmethod
    @checked
    def load(path: str | PathLike[str] | None = None, which: str | int | None = None) -> Sweep:
        """Open a store, your own or another, or an exported file; nothing is written or run.

        `path` is by default this user's store. `which` is a function's name or a row of
        `stored(path)`, by default the last sweep. Raises `UsageError` when there is none,
        `ArtifactError` for another file.
        """
        file = None if path is None else check_file_path(path)
        if file is not None and file.lower().endswith(_TABLE_ENDINGS):
            from workbench.worlds.sweeps.rows.table_files import read_table

            return Sweep(**read_table(file))
        return Sweep(**read_stored(file, which))

    @staticmethod
    @checked
    def stored(path: str | PathLike[str] | None = None) -> pandas.DataFrame:
        """Return the sweeps of a store, by default of this user: a row for each, the last one last.

        Columns: `name`, `over` (axes with numbers of values), `settings`, `done`, `machine`,
        `when`.
        """
        file = None if path is None else check_file_path(path)
        return presenter().rows_frame(list_stored(file), StoredSweep)

    @checked
    def trial(self, row: int | Trial) -> Trial:
        """Return one row, by its number or itself; raises `UsageError` for an unknown number."""
        if not isinstance(row, int):
            return row
        if row >= len(self.trials):
            rows = f"rows 0 to {len(self.trials) - 1}" if self.trials else "no rows"
            raise UsageError(f"Row {row} does not exist: the sweep has {rows}.")
        return self.trials[row]

    @checked
    def report(self, row: int | Trial) -> Report:
        """Return the full report of one row, given by its number or itself.

        Raises `UsageError` when none was kept.
        """
        trial = self.trial(row)
        content = None if self.read is None else self.read(trial)
        if content is None:
            raise UsageError(f"{trial.title} has no report: {trial.reason or 'it was not kept'}.")
        return Report.from_bytes(content)

    @checked
    def diff(self, a: int | Trial, b: int | Trial) -> Diff:
        """Compare the reports of two rows, given by their numbers or themselves.

        Raises `UsageError` when one was not kept.
        """
        from workbench.analysis.diff.report_comparison import compare

        first, second = self.trial(a), self.trial(b)
        return compare(self.report(first), self.report(second), apart(first, second))

    def __repr__(self) -> str:
        """A short stable summary without times: the status of the configurations."""
        counts = Counter(trial.status for trial in self.trials)
        ended = ", ".join(f"{count} {status}" for status, count in counts.items())
        axes = " × ".join(f"{name} ({len(values)})" for name, values in self.axes.items())
        return f"Sweep({self.name} over {axes}: {ended or 'nothing ran'})"


def note(sweep: Sweep, store: Store, id: str, *, again: bool = True) -> None:
    """Write what a sweep is about; a store that is read-only stays as it is."""
    if store.read_only:
        return
    kept = store.find(trial.key for trial in sweep.trials)
    about = {
        "name": sweep.name,
        "axes": {name: list(values) for name, values in sweep.axes.items()},
        "sizes": list(sweep.sizes),
        "expression": sweep.expression,
        "seconds": sweep.seconds,
        "notes": list(sweep.notes),
        "keys": [trial.key for trial in sweep.trials if trial.key in kept],
        "others": [trial.to_json() for trial in sweep.trials if trial.key not in kept],
    }
    store.note(id, about, again=again)
