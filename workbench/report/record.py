"""The record of one compilation: plain data that every view is built from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import workbench.report.machine_rows as machine_rows
import workbench.report.rows as rows
from workbench.report.file_record import FileRecord
from workbench.report.header import SCHEMA, TABLES, Environment, Outcome, Request
from workbench.report.presenting import presenter
from workbench.report.rivals import Rivals, rivals_of
from workbench.report.table import Table
from workbench.report.texts import Texts
from workbench.report.wbr_file import read_file, read_json, write_file

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas


@dataclass(frozen=True)
class Report(FileRecord):
    """A compilation as plain data: nested records, tables by name, texts by content hash.

    `extra` keeps record kinds that this version does not know.

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

    def _table(self, name: str) -> Table[Any]:
        return self.tables[name] if name in self.tables else Table.of(TABLES[name])

    @property
    def sources(self) -> Table[rows.Source]:
        """The user's functions that were traced."""
        return self._table("sources")

    @property
    def graphs(self) -> Table[rows.Graph]:
        """FX graphs of every stage, in the order in which they appeared."""
        return self._table("graphs")

    @property
    def nodes(self) -> Table[rows.Node]:
        """FX nodes of every graph."""
        return self._table("nodes")

    @property
    def breaks(self) -> Table[rows.Break]:
        """Graph breaks."""
        return self._table("breaks")

    @property
    def guards(self) -> Table[rows.Guard]:
        """Guards, kept and dropped."""
        return self._table("guards")

    @property
    def recompiles(self) -> Table[rows.Recompile]:
        """Recompilations with the guard that failed."""
        return self._table("recompiles")

    @property
    def fusion(self) -> Table[rows.FusionPair]:
        """Every pair of scheduler nodes that was considered."""
        return self._table("fusion")

    @property
    def scheduler_nodes(self) -> Table[rows.SchedulerNode]:
        """Scheduler nodes before and after fusion."""
        return self._table("scheduler_nodes")

    @property
    def kernels(self) -> Table[rows.Kernel]:
        """Generated kernels and library calls."""
        return self._table("kernels")

    @property
    def kernel_lines(self) -> Table[rows.KernelLine]:
        """FX nodes behind the lines of the kernels' sources."""
        return self._table("kernel_lines")

    @property
    def buffers(self) -> Table[rows.Buffer]:
        """Buffers of the lowered graphs."""
        return self._table("buffers")

    @property
    def wrappers(self) -> Table[rows.Wrapper]:
        """Generated programs that call the kernels."""
        return self._table("wrappers")

    @property
    def autotune(self) -> Table[rows.AutotuneChoice]:
        """Choices that the autotuner timed."""
        return self._table("autotune")

    @property
    def assembly(self) -> Table[machine_rows.Assembly]:
        """What each stage made of each Triton kernel."""
        return self._table("assembly")

    @property
    def resources(self) -> Table[machine_rows.Resources]:
        """What each Triton kernel takes of the device."""
        return self._table("resources")

    @property
    def fidelity(self) -> Table[machine_rows.Fidelity]:
        """How code for a GPU that is not there may differ from code made on it."""
        return self._table("fidelity")

    @property
    def roofline(self) -> Table[machine_rows.KernelRoofline]:
        """Where every kernel lies under the roofline of its GPU."""
        return self._table("roofline")

    @property
    def matrix(self) -> Table[machine_rows.MatrixCell]:
        """Every kernel on several GPUs, where they were compared."""
        return self._table("matrix")

    @property
    def ranked_configs(self) -> Table[machine_rows.RankedConfig]:
        """Configurations of kernels that a model has ranked, where that was asked for."""
        return self._table("ranked_configs")

    @property
    def cuda_graphs(self) -> Table[machine_rows.CudaGraphPart]:
        """What torch will record as CUDA graphs, where that was asked for."""
        return self._table("cuda_graphs")

    @property
    def phases(self) -> Table[rows.Phase]:
        """The timeline, properly nested on each thread."""
        return self._table("phases")

    @property
    def cache(self) -> Table[rows.CacheEvent]:
        """What torch's caches answered."""
        return self._table("cache")

    @property
    def cache_parts(self) -> Table[rows.CachePart]:
        """What the keys of torch's caches were made from."""
        return self._table("cache_parts")

    @property
    def capabilities(self) -> Table[rows.Capability]:
        """What could and could not be captured."""
        return self._table("capabilities")

    @property
    def links(self) -> Table[rows.Link]:
        """Pairs of ids that belong together."""
        return self._table("links")

    @cached_property
    def _neighbours(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for link in self.links:
            index.setdefault(link.a, []).append(link.b)
            index.setdefault(link.b, []).append(link.a)
        return index

    @cached_property
    def node_rows(self) -> Mapping[str, list[int]]:
        """The rows of the table of nodes by graph id."""
        found: dict[str, list[int]] = {graph.id: [] for graph in self.graphs}
        for index, graph in enumerate(self.nodes.columns.get("graph", ())):
            found.setdefault(graph, []).append(index)
        return found

    @cached_property
    def node_pairs(self) -> Mapping[str, list[tuple[str, str]]]:
        """Nodes with the nodes that were made from them, by the later node's graph id."""
        columns = self.links.columns
        found: dict[str, list[tuple[str, str]]] = {graph.id: [] for graph in self.graphs}
        names = ("a", "b", "relation")
        prefix, pairs = ":", [("", "")]
        for a, b, relation in zip(*(columns.get(name, ()) for name in names), strict=True):
            if relation == "node-node":
                if not b.startswith(prefix):  # the links of a graph stand together
                    prefix = b[: b.index(":") + 1]
                    pairs = found.setdefault(prefix[:-1], [])
                pairs.append((a, b))
        return found

    def linked(self, id: str) -> tuple[str, ...]:
        """The ids tied to `id`, whichever side of the link it stands on."""
        return tuple(self._neighbours.get(id, ()))

    def why_missing(self, name: str) -> str | None:
        """The reason why the part `name` was not captured, or None when it was."""
        lost = (row for row in self.capabilities if row.name == name and not row.available)
        return next((row.reason or "not captured" for row in lost), None)

    def __repr__(self) -> str:
        """A short stable summary: no times, no addresses."""
        counts = [f"{len(self._table(name))} {name}" for name in ("kernels", "breaks", "guards")]
        state = "ok" if self.outcome.ok else f"failed in {self.outcome.step}"
        words = [self.request.name or "?", self.request.target, state, *counts]
        return f"Report({', '.join(words)})"

    def to_json(self) -> dict[str, Any]:
        """The whole record as JSON-ready data."""
        texts = self.texts if isinstance(self.texts, Texts) else Texts()
        return {
            "schema": self.schema,
            "environment": asdict(self.environment),
            "request": asdict(self.request),
            "outcome": asdict(self.outcome),
            "tables": {name: table.to_json() for name, table in self.tables.items()},
            "texts": texts.to_json(),
            "extra": dict(self.extra),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """Read what `to_json` wrote; raises `ArtifactError` for a newer schema."""
        return cls(**read_json(data))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a `.wbr` file, atomically."""
        write_file(self.to_json(), path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Report:
        """Open a `.wbr` file; big parts are read when first used.

        Raises `ArtifactError` when the file is missing, damaged or of a newer schema.
        """
        return cls(**read_file(path))

    def frame(self, name: str) -> pandas.DataFrame:
        """One table as a DataFrame: those of `TABLES`, and two that are made of them.

        `traffic`: each kernel's bytes before and after fusion. `not_fused`: each pair of groups
        that stayed apart, with the reason and what may help. Raises `UsageError` for another name.
        """
        return presenter().frame(self, name)

    def rivals(self) -> tuple[Rivals, ...]:
        """Winner and runner-up, with their code, of every operation that the autotuner tuned."""
        return rivals_of(self.autotune, self.texts)

    def plot(self, name: str) -> matplotlib.figure.Figure:
        """One chart as a matplotlib figure."""
        return presenter().plot(self, name)

    def to_html(self, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
        """A self-contained page, written to `path` when given.

        `redact` drops sources and constants.
        """
        return presenter().page(self, path, redact=redact)
