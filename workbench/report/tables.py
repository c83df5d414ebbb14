"""The tables of a report, to which one is added here, and what an error knows of a report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import workbench.report.collectives.collective_rows as cluster_rows
import workbench.report.file_rows as file_rows
import workbench.report.machine_rows as machine_rows
import workbench.report.memory_rows as memory_rows
import workbench.report.requirement_rows as requirement_rows
import workbench.report.rows as rows
from workbench.report.report_header import Environment, Outcome, Request
from workbench.report.rivals import Rivals, list_rivals
from workbench.report.rows import Lowering
from workbench.report.table import KeptRows, Table
from workbench.report.texts import Texts
from workbench.worlds.world import World, gather

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

Row = TypeVar("Row")


class TableOf(Generic[Row]):
    """A table of a record as an attribute; empty where the record does not have it."""

    def __init__(self, row_type: type[Row], doc: str):
        self.row_type = row_type
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Table of {self.row_type.__name__}: {self.__doc__}"

    @overload
    def __get__(self, record: None, owner: type) -> TableOf[Row]: ...

    @overload
    def __get__(self, record: Tables, owner: type) -> Table[Row]: ...

    def __get__(self, record: Tables | None, owner: type) -> TableOf[Row] | Table[Row]:
        if record is None:
            return self
        kept: dict[str, Table[Row]] | None = vars(record).get("_kept")
        if kept is not None and self.name in kept:
            return kept[self.name]
        stored = record.tables.get(self.name)
        table = Table.of(self.row_type) if stored is None else stored
        return table if kept is None else kept.setdefault(self.name, KeptRows.of_table(table))


class Tables:
    """Base of a report: its tables by name, in the order in which they are listed."""

    tables: Mapping[str, Table[Any]]

    if not TYPE_CHECKING:  # every misspelt attribute would be a table for a type checker

        def __getattr__(self, name: str) -> Table[Any]:
            """A table of a world."""
            table = None if name.startswith("_") else list_tables().get(name)
            if table is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return table.__get__(self, type(self))

    @contextmanager
    def rows_kept(self) -> Iterator[None]:
        """Make the rows of each table once while the block runs, however often they are asked for.

        A view asks for the kernels dozens of times. Columns take a fifth of the memory, so that
        rows are not kept for longer.
        """
        if "_kept" in vars(self):
            yield
            return
        vars(self)["_kept"] = {}
        try:
            yield
        finally:
            vars(self).pop("_kept", None)

    sources = TableOf(rows.Source, "The user's functions that were traced.")
    graphs = TableOf(rows.Graph, "FX graphs of every stage, in the order in which they appeared.")
    nodes = TableOf(rows.Node, "FX nodes of every graph.")
    bytecode = TableOf(rows.Bytecode, "The bytecode that Dynamo generated for each function.")
    breaks = TableOf(rows.Break, "Graph breaks.")
    guards = TableOf(rows.Guard, "Guards, kept and dropped.")
    recompiles = TableOf(rows.Recompile, "Recompilations with the guard that failed.")
    fusion = TableOf(rows.FusionPair, "Every pair of scheduler nodes that fusion considered.")
    passes = TableOf(
        rows.PassStep, "Passes over graphs and scheduler nodes, with what each changed."
    )
    pass_nodes = TableOf(rows.Node, "Nodes that a pass added or rewrote.")
    lowerings = TableOf(Lowering, "The lowering of each operator, and its result.")
    scheduler_nodes = TableOf(rows.SchedulerNode, "Scheduler nodes before and after fusion.")
    kernels = TableOf(rows.Kernel, "Generated kernels and library calls.")
    kernel_lines = TableOf(rows.KernelLine, "FX nodes behind each line of kernel source.")
    buffers = TableOf(rows.Buffer, "Buffers of the lowered graphs.")
    wrappers = TableOf(rows.Wrapper, "Generated programs that call the kernels.")
    autotune = TableOf(rows.AutotuneChoice, "Choices that were autotuned.")
    assembly = TableOf(machine_rows.Assembly, "The code of each kernel at each stage.")
    resources = TableOf(machine_rows.Resources, "Resource usage of each Triton kernel.")
    launches = TableOf(
        machine_rows.Launch, "Kernel launches by grid and arguments, if a log has them."
    )
    fidelity = TableOf(
        machine_rows.Fidelity,
        "How code for a virtual GPU may differ from code compiled on the real GPU.",
    )
    roofline = TableOf(
        machine_rows.KernelRoofline, "The position of every kernel under the roofline of its GPU."
    )
    matrix = TableOf(
        machine_rows.MatrixCell, "Every kernel on several GPUs, if they were compared."
    )
    ranked_configs = TableOf(
        machine_rows.RankedConfig,
        "Kernel configurations ranked by modelled time, on request.",
    )
    collectives = TableOf(cluster_rows.Collective, "Collectives of one rank of a cluster.")
    cuda_graphs = TableOf(
        machine_rows.CudaGraphPart,
        "The parts that torch records as CUDA graphs, on request.",
    )
    memory_budgets = TableOf(
        memory_rows.MemoryBudget,
        "Memory saved by other activation memory budgets, on request.",
    )
    recomputed = TableOf(
        memory_rows.RecomputedNode, "Operators that the backward pass would recompute, by budget."
    )
    saved_reasons = TableOf(
        memory_rows.SavedReason, "Why torch saves each activation for the backward pass."
    )
    eager_memory = TableOf(memory_rows.EagerMemory, "The memory of eager, if it was counted.")
    kernel_findings = TableOf(
        machine_rows.KernelFinding,
        "Bugs in hand-written kernels, from instrumented runs.",
    )
    checked_cases = TableOf(machine_rows.CheckedCase, "Kernel calls that were run instrumented.")
    accesses = TableOf(machine_rows.MemoryAccess, "Memory coalescing by source line.")
    layouts = TableOf(
        machine_rows.KernelLayout, "Tensor layouts of a kernel: which thread holds each element."
    )
    artifact = TableOf(
        file_rows.ArtifactFact, "Facts about the file that the program was saved to or loaded from."
    )
    members = TableOf(file_rows.ArtifactMember, "The members of the file.")
    contract = TableOf(file_rows.ContractLeaf, "Inputs and outputs of the file.")
    requirements = TableOf(
        requirement_rows.Requirement,
        "Requirements of the file, compared with the machine.",
    )
    roundtrip = TableOf(
        file_rows.RoundTripWay,
        "Start-up modes, each run from a fresh process to the first result.",
    )
    roundtrip_phases = TableOf(file_rows.RoundTripPhase, "The phases of each start-up mode.")
    roundtrip_leaves = TableOf(
        file_rows.RoundTripLeaf, "The outputs of each start-up mode, compared with eager."
    )
    phases = TableOf(rows.Phase, "The timeline, properly nested on each thread.")
    cache = TableOf(rows.CacheEvent, "Hits and misses of torch's caches.")
    cache_parts = TableOf(rows.CachePart, "The parts of torch's cache keys.")
    capabilities = TableOf(
        rows.Capability, "The parts that were captured, and why others were not."
    )
    links = TableOf(rows.Link, "Pairs of linked ids.")


class _AllTables(Mapping[str, type]):
    """Those of `Tables`, then those of the worlds, which are asked at the first use."""

    def __getitem__(self, name: str) -> type:
        return list_tables()[name].row_type

    def __iter__(self) -> Iterator[str]:
        return iter(list_tables())

    def __len__(self) -> int:
        return len(list_tables())


@cache
def list_tables() -> Mapping[str, TableOf[Any]]:
    """Every table of a report by name, with what it holds."""
    own = {name: each for name, each in vars(Tables).items() if isinstance(each, TableOf)}
    gathered = gather(_read_tables, {**own, **dict.fromkeys(vars(ReportBase), None)}, "table")
    return {name: each for name, each in gathered.items() if each is not None}


def read_table(record: Tables, name: str, row_type: type[Row]) -> Table[Row]:
    """A table of a world by name, for type checkers with the data class of its rows."""
    return list_tables()[name].__get__(record, type(record))


def _read_tables(world: World) -> Mapping[str, TableOf[Any]]:
    return {name: _name_table(name, *said) for name, said in world.list_tables().items()}


def _name_table(name: str, row_type: type, doc: str) -> TableOf[Any]:
    if not (isinstance(row_type, type) and is_dataclass(row_type)):
        raise TypeError(f"the rows of the table {name} are {row_type!r}: expected a data class")
    table: TableOf[Any] = TableOf(row_type, doc)
    table.name = name
    return table


TABLES: Mapping[str, type] = _AllTables()
"""Every table of a report by name; a name is also what `Report.frame` takes."""

UNKNOWN = "unknown_tables"
"""Where `Report.extra` keeps the tables that nothing here reads: they are saved again as tables."""

ARTIFACT_TABLES = ("artifact", "members", "contract", "requirements")
"""The tables that a file's manifest gives."""

FILE_TABLES = (*ARTIFACT_TABLES, "roundtrip", "roundtrip_phases", "roundtrip_leaves")
"""The tables about a file: they never travel in the file itself."""


class ReportBase(Tables, ABC):
    """Base of `Report`, which raises errors and so stands above them; each method is said there."""

    environment: Environment
    request: Request
    outcome: Outcome
    texts: Mapping[str, str]
    extra: Mapping[str, Any]
    schema: int

    @abstractmethod
    def linked(self, id: str) -> tuple[str, ...]:
        """See `Report.linked`."""

    @abstractmethod
    def why_missing(self, name: str) -> str | None:
        """See `Report.why_missing`."""

    def to_json(self) -> dict[str, Any]:
        """The whole record as JSON-ready data."""
        texts = self.texts if isinstance(self.texts, Texts) else Texts()
        return {
            "schema": self.schema,
            "environment": asdict(self.environment),
            "request": asdict(self.request),
            "outcome": asdict(self.outcome),
            "tables": {
                **{name: table.to_json() for name, table in self.tables.items()},
                **self.extra.get(UNKNOWN, {}),
            },
            "texts": texts.to_json(),
            "extra": {name: part for name, part in self.extra.items() if name != UNKNOWN},
        }

    @abstractmethod
    def to_bytes(self) -> bytes:
        """See `Report.to_bytes`."""

    @abstractmethod
    def save(self, path: str | PathLike[str]) -> None:
        """See `Report.save`."""

    @abstractmethod
    def frame(self, name: str) -> pandas.DataFrame:
        """See `Report.frame`."""

    @abstractmethod
    def kernel_script(self, kernel: str) -> str:
        """See `Report.kernel_script`."""

    def rivals(self) -> tuple[Rivals, ...]:
        """Winner and runner-up, with their code, of every operation that the autotuner tuned."""
        return list_rivals(self.autotune, self.texts)

    @abstractmethod
    def plot(self, name: str) -> matplotlib.figure.Figure:
        """See `Report.plot`."""

    @abstractmethod
    def to_html(self, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
        """See `Report.to_html`."""
