"""A profile of torch's profiler as plain data that every view is built from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from workbench.arguments import checked
from workbench.errors import ArtifactError, UsageError
from workbench.file_path import check_file_path
from workbench.number_text import plural
from workbench.plain_data import read_file
from workbench.report.atomic import write_saved_file
from workbench.report.presenter import Presented, Viewed, presenter
from workbench.report.record import Report
from workbench.report.table import Table
from workbench.report.wbr_file import (
    LARGEST,
    PROFILE,
    Lazy,
    build_table_maker,
    check_start,
    open_parts,
    write_bytes,
)
from workbench.typed_data import read_row
from workbench.worlds.profiles.rows.profile_rows import (
    PROFILE_TABLES,
    ProfileHeader,
    ProfileOpportunity,
)

if TYPE_CHECKING:
    import pandas


class RunProfile(Viewed, Presented):
    """Hold the device work that torch.profiler recorded.

    `frame(name)` returns a table: `kernels`, `modules`, `lines`, `gaps`, `streams`, `collectives`,
    `steps`, `memory`, `launches` or `ranks`. `events` and `host` are for a timeline; `record`
    exists after `with_report`. Times are measured, in µs. `notes` list missing data and errors of
    the file.

    Examples
    --------
    >>> p = wb.read_profile("trace.json.gz")
    >>> p
    RunProfile(h100, 50 kernels, 352 calls)
    """

    def __init__(
        self,
        header: ProfileHeader,
        tables: Mapping[str, Table[Any]],
        records: Mapping[str, Any] | None = None,
    ):
        self._header, self._tables, self._records = header, tables, dict(records or {})

    def __repr__(self) -> str:
        """A short stable summary: no times."""
        kernels, what = self._tables["kernels"], "operator" if self._header.on_cpu else "kernel"
        where = self._header.gpu or self._header.device_name or "an unknown GPU"
        calls = plural(sum(kernels.columns.get("calls", ())), "call")
        return f"RunProfile({where}, {plural(len(kernels), what)}, {calls})"

    def __str__(self) -> str:
        """Show it for a terminal: a screen of at most 80 columns."""
        return presenter().text(self)

    @property
    def header(self) -> ProfileHeader:
        """The subject of the profile, and its totals."""
        return self._header

    @property
    def tables(self) -> Mapping[str, Table[Any]]:
        """Every table by name."""
        return self._tables

    def with_tables(self, **tables: Table[Any]) -> RunProfile:
        """Return a copy with these tables in place of its own."""
        return RunProfile(self._header, {**self._tables, **tables}, self._records)

    def of_own_rank(self) -> RunProfile:
        """The rows of the rank that has the totals, and the list of all ranks."""
        rank = self._header.rank
        if rank is None:
            return self
        kept = {
            name: Table.of(table.row_type, (row for row in table if row.rank == rank))
            for name, table in self._tables.items()
            if name != "ranks" and "rank" in table.columns
        }
        return self.with_tables(**kept)

    @checked
    def with_report(self, report: Any) -> RunProfile:
        """Return the profile with the lines, nodes and operations of a report's kernels.

        `Report.with_profile` does the reverse. Raises `UsageError` if no Inductor kernel of the
        report ran.
        """
        if not isinstance(report, Report):
            raise UsageError(f"report: expected a report, got {type(report).__name__}.")
        return cast("RunProfile", presenter().join(self, report))

    def _compare(self, other: Any, names: tuple[str, str] | None) -> Any:
        return presenter().compare(self, other, names)

    @property
    def records(self) -> Mapping[str, Any]:
        """The reports of `with_report`, with measured times, by `of` in `record`; not saved."""
        return self._records

    @property
    def sentence(self) -> str:
        """The total time, how busy the device was, and where the time went."""
        return presenter().sentences(self)[0]

    @property
    def gpu(self) -> str:
        """The GPU by its name in `targets()`; empty if none matches."""
        return self._header.gpu

    @property
    def total_us(self) -> float:
        """µs from the first to the last device work whose launch is in the profile."""
        return self._header.total_us

    @property
    def busy_us(self) -> float:
        """µs of `total_us` in which at least one stream of the device was active."""
        return self._header.busy_us

    @property
    def idle_us(self) -> float:
        """µs of `total_us` in which no stream was active."""
        return self._header.idle_us

    @property
    def opportunities(self) -> tuple[ProfileOpportunity, ...]:
        """Suggested changes, the largest saving first, each with the µs that it affects."""
        return tuple(self._tables["opportunities"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Errors of the file, and missing data with the option that records it."""
        lacking = (f"{what}: {how}." for what, how in self._header.missing)
        return (*self._header.notes, *lacking)

    @checked
    def frame(self, name: str = "kernels") -> pandas.DataFrame:
        """Return one table as a DataFrame; raises `UsageError` for another name."""
        return presenter().frame(self, name)

    @checked
    def save(self, path: str | PathLike[str]) -> None:
        """Write a `.wbr` file, atomically."""
        with write_saved_file(path) as file:
            file.write(self.to_bytes())

    @classmethod
    @checked
    def load(cls, path: str | PathLike[str]) -> RunProfile:
        """Open a `.wbr` file that `save` wrote; tables are read on first access.

        Raises `ArtifactError` when the file is missing, damaged, of a newer schema or not a
        profile.
        """
        return RunProfile(*read(path))

    def to_bytes(self) -> bytes:
        """Return the content that `save` writes; any gzip tool shows it as lines of JSON."""
        return to_bytes(self.header, self.tables)

    @classmethod
    @checked
    def from_bytes(cls, content: bytes, path: str | PathLike[str]) -> RunProfile:
        """A profile from what was written; `path` is named in errors, as `load` raises."""
        return RunProfile(*read_content(content, path))

    @checked
    def to_html(self, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
        """Return a self-contained page, written to `path` when given; `redact` drops file paths."""
        return presenter().page(self, path, redact=redact)

    @checked
    def to_perfetto(self, path: str | PathLike[str]) -> str:
        """Write a trace that Perfetto and chrome://tracing open; returns the path.

        It has kernel runs by device and stream, and the activity of CPU threads. Several ranks are
        one process each, by the clocks of their machines. Raises `UsageError` without a timeline,
        `ArtifactError` if it cannot be written.
        """
        chosen = check_file_path(path)
        presenter().export(self, chosen)
        return chosen


SCHEMA = 1


def to_bytes(header: ProfileHeader, tables: Mapping[str, Table[Any]]) -> bytes:
    """The content of a `.wbr` file."""
    content = {name: table.to_json() for name, table in tables.items()}
    said = {"schema": SCHEMA, "kind": PROFILE, "profile": asdict(header)}
    return write_bytes({**said, "tables": content, "texts": {}})


def read(path: str | PathLike[str]) -> tuple[ProfileHeader, Mapping[str, Table[Any]]]:
    """Header and tables of a file; raises `ArtifactError` when it cannot be read as a profile."""
    try:
        content = read_file(path, LARGEST, check_start)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArtifactError(f"Cannot open the profile {path}: {reason}.") from error
    return read_content(content, path)


def read_content(
    content: bytes, path: str | PathLike[str]
) -> tuple[ProfileHeader, Mapping[str, Table[Any]]]:
    """Header and tables of what was written; `path` is named in errors, as `read` raises."""
    said, parts = open_parts(content)
    if said.get("kind") != PROFILE:
        raise ArtifactError(
            f"{path} is not a profile. Open a report with wb.Report.load or `workbench report`."
        )
    schema = said.get("schema")
    if not isinstance(schema, int) or schema > SCHEMA:
        raise ArtifactError(
            f"{path} has schema {schema}; this version reads up to {SCHEMA}. Upgrade aot-workbench."
        )
    try:
        header = read_row(ProfileHeader, said.get("profile"))
    except ValueError as error:
        raise ArtifactError(f"{path} has a damaged header: {error}.") from error
    makers = {name: _maker(row_type, parts, name) for name, row_type in PROFILE_TABLES.items()}
    tables = Lazy(makers)
    read_events = makers["events"]
    makers["events"] = lambda: _check_events(read_events(), tables["kernels"])
    return header, tables


def _check_events(events: Table[Any], kernels: Table[Any]) -> Table[Any]:
    known = set(kernels.columns.get("id", ()))
    lost = next((name for name in events.columns.get("kernel", ()) if name not in known), None)
    if lost is not None:
        raise ArtifactError(
            f"The profile is damaged: its events use the missing kernel {lost!r:.40}. Get the file "
            "again, or read the trace again with wb.read_profile."
        )
    return events


def _maker(
    row_type: type, parts: Mapping[str, Callable[[], Any]], name: str
) -> Callable[[], Table[Any]]:
    """What makes a table; of a file written before there was one it is empty."""
    part = parts.get(f"table:{name}")
    return (lambda: Table.of(row_type)) if part is None else build_table_maker(row_type, part)
