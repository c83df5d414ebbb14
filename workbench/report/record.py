"""The record of one compilation: plain data that every view is built from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import compress
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, cast

from workbench.arguments import checked
from workbench.errors import ArtifactError
from workbench.file_path import check_file_path
from workbench.number_text import plural
from workbench.plain_data import read_file
from workbench.report.atomic import write_saved_file
from workbench.report.machine_rows import NOT_JUDGED, KernelRoofline
from workbench.report.presenter import Viewed, presenter
from workbench.report.report_header import (
    KERNEL_LOG,
    OWN_KERNEL,
    SCHEMA,
    Environment,
    Outcome,
    Request,
)
from workbench.report.rows import PassStep, WhyApart
from workbench.report.table import Table
from workbench.report.tables import ReportBase
from workbench.report.texts import Texts
from workbench.report.wbr_file import LARGEST, check_start, read_bytes, read_json, write_bytes

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas


Made = TypeVar("Made")


@dataclass(frozen=True)
class Report(Viewed, ReportBase):
    """Hold a compilation as plain data: nested records, tables by name, texts by content hash.

    `extra["unknown_tables"]` keeps tables that no installed package reads.

    Examples
    --------
    >>> compiled.report.save("f.wbr")
    >>> list(wb.Report.load("f.wbr").frame("kernels").ops)
    [('aten.add.Tensor', 'aten.mul.Tensor', 'aten.relu.default')]
    """

    environment: Environment = field(default_factory=Environment)
    request: Request = field(default_factory=Request)
    outcome: Outcome = field(default_factory=Outcome)
    tables: Mapping[str, Table[Any]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=Texts)
    extra: Mapping[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA

    def __getstate__(self) -> dict[str, Any]:
        """Return its state without cached derived values, for pickling and copying."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def _neighbours(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for link in self.links:
            index.setdefault(link.a, []).append(link.b)
            index.setdefault(link.b, []).append(link.a)
        return index

    @cached_property
    def node_rows(self) -> Mapping[str, list[int]]:
        """The rows of the node table by graph id."""
        by_graph: dict[str, list[int]] = {graph.id: [] for graph in self.graphs}
        for index, graph in enumerate(self.nodes.columns.get("graph", ())):
            by_graph.setdefault(graph, []).append(index)
        return by_graph

    @cached_property
    def lowered(self) -> Mapping[str, str]:
        """The scheduler's graph (`i0`) for each FX graph (`g7`)."""
        columns = self.links.columns
        a, b, relations = (columns.get(name, ()) for name in ("a", "b", "relation"))
        is_one = map("graph-lowered".__eq__, relations)
        return dict(compress(zip(a, b, strict=True), is_one))

    @cached_property
    def own_roofline(self) -> tuple[KernelRoofline, ...]:
        """The rows of its own GPU; `roofline` also has the GPUs that kernels were compared for."""
        rows = tuple(self.roofline)
        return tuple(row for row in rows if row.target == rows[0].target)

    @cached_property
    def node_row(self) -> Mapping[str, int]:
        """The row of each node by its id."""
        return {id: row for row, id in enumerate(self.nodes.columns.get("id", ()))}

    @cached_property
    def node_pairs(self) -> Mapping[str, list[tuple[str, str]]]:
        """Pairs of nodes and the nodes made from them, by the later node's graph id."""
        columns = self.links.columns
        by_graph: dict[str, list[tuple[str, str]]] = {graph.id: [] for graph in self.graphs}
        names = ("a", "b", "relation")
        prefix, pairs = ":", [("", "")]
        for a, b, relation in zip(*(columns.get(name, ()) for name in names), strict=True):
            if relation == "node-node":
                if not b.startswith(prefix):  # the links of a graph stand together
                    prefix = b[: b.index(":") + 1]
                    pairs = by_graph.setdefault(prefix[:-1], [])
                pairs.append((a, b))
        return by_graph

    @cached_property
    def graph_steps(self) -> Mapping[str, tuple[PassStep, ...]]:
        """The passes that changed each graph, in their order, by its id."""
        by_graph: dict[str, tuple[PassStep, ...]] = {}
        for step in self.passes:
            if step.graph_after is not None and step.graph_after != step.graph_before:
                base = step.graph_after.partition(".")[0]
                by_graph[base] = (*by_graph.get(base, ()), step)
        return by_graph

    @cached_property
    def _made(self) -> dict[Callable[[Report], Any], Any]:
        return {}

    @checked
    def once(self, make: Callable[[Report], Made]) -> Made:
        """Return the result of `make` for this report, computed once; do not modify it."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(Made, self._made[make])

    @checked
    def linked(self, id: str) -> tuple[str, ...]:
        """Return the ids linked to `id`, on either side of the link."""
        return tuple(self._neighbours.get(id, ()))

    @checked
    def why_missing(self, name: str) -> str | None:
        """Return the reason why the part `name` was not captured, or None if it was."""
        lost = (row for row in self.capabilities if row.name == name and not row.available)
        return next((row.reason or "not captured" for row in lost), None)

    def __repr__(self) -> str:
        """A short stable summary: no times, no addresses."""
        parts = {"kernels": "kernel", "breaks": "break", "guards": "guard"}
        if self.request.kind in (KERNEL_LOG, OWN_KERNEL):
            parts = {"kernels": "kernel", "resources": "configuration"}
        counts = [plural(len(getattr(self, name)), noun) for name, noun in parts.items()]
        words = [self.request.name or "?", self.request.target, describe_state(self), *counts]
        return f"Report({', '.join(words)})"

    def __str__(self) -> str:
        """Show it for a terminal: at most 25 lines of at most 80 columns."""
        return presenter().text(self)

    @classmethod
    @checked
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """Read the output of `to_json`; raises `ArtifactError` for a newer schema."""
        return cls(**read_json(data))

    @checked
    def save(self, path: str | PathLike[str]) -> None:
        """Write a `.wbr` file, atomically."""
        with write_saved_file(path) as file:  # a reader sees the old file or the new one
            file.write(self.to_bytes())

    @classmethod
    @checked
    def load(cls, path: str | PathLike[str]) -> Report:
        """Open a `.wbr` file; big parts are read on first use.

        Raises `ArtifactError` when the file is missing, damaged or of a newer schema.
        """
        try:
            content = read_file(path, LARGEST, check_start)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ArtifactError(f"Cannot open the report {path}: {reason}.") from error
        return cls.from_bytes(content)

    def to_bytes(self) -> bytes:
        """Return the content of a `.wbr` file; any gzip tool shows it as lines of JSON."""
        return write_bytes(self.to_json())

    @classmethod
    @checked
    def from_bytes(cls, content: bytes) -> Report:
        """Read the output of `to_bytes`; raises `ArtifactError` when it cannot."""
        return cls(**read_bytes(content))

    @checked
    def frame(self, name: str) -> pandas.DataFrame:
        """Return one table as a DataFrame: one of `TABLES`, or one derived from them.

        `costs`: the cost of each kernel, measured or modelled, with its source and share.
        `identical_kernels`: the same with one row for identical kernels, as in identical layers.
        `traffic`: each kernel's bytes before and after fusion. `not_fused`: each pair of groups
        that was not fused, with the reason and possible fixes. `opportunities`: possible changes,
        by saving. Raises `UsageError` for another name.
        """
        return presenter().frame(self, name)

    @checked
    def kernel_script(self, kernel: str) -> str:
        """Return a Python script that compares one kernel, such as "k3", with eager, and times it.

        It needs only torch, and a C++ compiler or the GPU that the kernel was compiled for. With
        TRITON_INTERPRET=1, a Triton kernel runs on a CPU, using this package. Raises `UsageError`
        with the reason for a kernel that cannot run alone, such as a library call.
        """
        return presenter().script(self, kernel)

    @checked
    def with_profile(self, profile: Any) -> Report:
        """Return the report with its kernels' times in a profile; see `wb.read_profile`.

        Inductor's kernels are found by the hash of their source. Raises `UsageError` if the profile
        has none of them.
        """
        return cast("Report", presenter().add_times(self, profile))

    @checked
    def why_apart(self, a: str, b: str) -> WhyApart:
        """Explain why one kernel does not compute two things, given ids of lines, nodes or kernels.

        Ids are, for example, "L:s0:12", "g7:add" and "k3". Raises `UsageError` for an unknown id.

        Examples
        --------
        >>> print(compiled.report.why_apart("k3", "k4"))
        k3 is a library call (bmm): it takes and gives whole tensors, so nothing is computed ...
        """
        return cast("WhyApart", presenter().why_apart(self, a, b))

    @checked
    def plot(self, name: str) -> matplotlib.figure.Figure:
        """Draw one chart as a matplotlib figure."""
        return presenter().plot(self, name)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
        """Return a self-contained page, written to `path` when given.

        `redact` drops sources and constants.
        """
        return presenter().page(self, path, redact=redact)

    @checked
    def to_perfetto(self, path: str | PathLike[str]) -> str:
        """Write a trace that Perfetto and chrome://tracing open; returns the path.

        It has the phases of the compilation; for several logs, one process for each. For a program
        with modelled collectives, it also has one modelled call, with a lane for each group. Raises
        `UsageError` if there is nothing to write, `ArtifactError` if it cannot be written.
        """
        chosen = check_file_path(path)
        presenter().export(self, chosen)
        return chosen


def describe_state(report: Report) -> str:
    """Describe the outcome in words: "ok" says that it was compiled, not that it was checked."""
    if not report.outcome.ok:
        return f"{report.outcome.verb}{report.outcome.place}"
    is_compiled = report.request.kind != OWN_KERNEL or len(report.kernels)
    return f"{'ok' if is_compiled else 'not compiled'}{_say_checked(report)}"


def _say_checked(report: Report) -> str:
    """What became of the calls of kernels that were checked; empty where none was."""
    verdicts = {case.verdict for case in report.checked_cases if not case.by}
    if not verdicts:
        return ""
    found = sum(row.kind != NOT_JUDGED for row in report.kernel_findings)
    if found:
        return f", {plural(found, 'finding')}"
    return ", checked: nothing found" if verdicts == {"passed"} else ", not checked"


Row = TypeVar("Row")


def select_rows(table: Table[Row], column: str, wanted: Collection[Any]) -> Iterator[Row]:
    """Return the rows with one of the wanted values in a column, in the order of the table."""
    picked = dict(zip(table.columns, _picked(table, column, wanted, table.columns), strict=True))
    return iter(Table(table.row_type, picked))


def read_parts_at(
    table: Table[Any], rows: Collection[int], names: Iterable[str]
) -> Iterator[tuple[Any, ...]]:
    """Return the rows at these positions, with only the named columns."""
    return zip(*_columns_at(table, rows, names), strict=True)


def select_parts(
    table: Table[Any], column: str, wanted: Collection[Any], names: Iterable[str]
) -> Iterator[tuple[Any, ...]]:
    """Return the same rows with only the named columns: seven times as fast as whole rows."""
    return zip(*_picked(table, column, wanted, names), strict=True)


def _picked(
    table: Table[Any], column: str, wanted: Collection[Any], names: Iterable[str]
) -> Iterator[list[Any]]:
    values = table.columns.get(column, ())
    kept = list(compress(range(len(values)), map(wanted.__contains__, values)))
    yield from _columns_at(table, kept, names)


def _columns_at(
    table: Table[Any], rows: Collection[int], names: Iterable[str]
) -> Iterator[list[Any]]:
    for name in names:
        part = table.columns.get(name)
        yield [part[row] for row in rows] if part else [None] * len(rows)


def list_linked_pairs(report: Report, relation: str) -> Iterator[tuple[str, str]]:
    """Return both ends of every link of one relation."""
    columns = report.links.columns
    a, b, relations = (columns.get(name, ()) for name in ("a", "b", "relation"))
    count = relations.count(relation)
    if not count:
        return iter(())
    first = relations.index(relation)
    own = slice(first, first + count)
    if relations[own].count(relation) == count:  # they stand together
        return zip(a[own], b[own], strict=True)
    return compress(zip(a, b, strict=True), map(relation.__eq__, relations))
