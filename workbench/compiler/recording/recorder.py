"""The recorder: everything that torch does between entering and leaving it becomes a report."""

from __future__ import annotations

import contextlib
import os
import platform
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import Any, Self

from workbench import __version__
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.internals.trace import Record, TraceHandler
from workbench.compiler.machine_code.host_code import HostCode
from workbench.compiler.process_groups.cluster import find_cluster
from workbench.compiler.recording.autotune_choices import AutotuneRecorder
from workbench.compiler.recording.budget_previews import BudgetRecorder
from workbench.compiler.recording.bytecode import BytecodeRecorder
from workbench.compiler.recording.cache import CacheRecorder
from workbench.compiler.recording.compile_phases import PhaseRecorder
from workbench.compiler.recording.cuda_graphs import CudaGraphRecorder
from workbench.compiler.recording.fusion_decisions import FusionRecorder
from workbench.compiler.recording.generated_kernels import KernelRecorder
from workbench.compiler.recording.graph_breaks import BreakRecorder
from workbench.compiler.recording.graph_passes import PassRecorder
from workbench.compiler.recording.guards import GuardRecorder
from workbench.compiler.recording.lowered_nodes import LoweringRecorder
from workbench.compiler.recording.saved_reasons import SavedReasonRecorder
from workbench.compiler.recording.stage_graphs import GraphRecorder
from workbench.compiler.rows.phase_rows import nest
from workbench.compiler.sources.dynamo_messages import GuardTexts
from workbench.compiler.sources.size_symbols import SYMBOL_RECORDS, SizeSymbols, describe_line
from workbench.compiler.sources.sources import CallSites, Places, SourceTable
from workbench.report import (
    TABLES,
    Capability,
    Environment,
    Link,
    Outcome,
    Report,
    Request,
    Table,
    TextWriter,
)
from workbench.report.collectives.collective_rows import CLUSTER, PASSES
from workbench.report.rows import MODULE_CLASSES
from workbench.report.texts import LateTexts
from workbench.report.wbr_file import Lazy
from workbench.tasks.progress_events import ProgressCallback, pass_errors

FULL = "full"
_LOST_BY_HITS = (
    "graphs",
    "passes",
    "lowerings",
    "scheduler_nodes",
    "fusion",
    "kernel_lines",
    "autotune",
    "cuda_graphs",
    "saved_reasons",
)
_NO_LINES = (
    "torch keeps no lines for a module with a built-in forward, such as a bare nn.Sequential; use "
    "the module path, or call it from your own code"
)
_PANES = (
    *("trace", "phases", "graphs", "passes", "breaks", "guards", "lowerings", "scheduler_nodes"),
    *("fusion", "kernels", "bytecode", "kernel_lines", "autotune", "cuda_graphs", "cache"),
    *("cache_parts", "saved_reasons", PASSES),
)
_VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "CXX",
    "CC",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "PYTORCH_ENABLE_MPS_FALLBACK",
    "TORCHDYNAMO_DISABLE",
    "TORCHINDUCTOR_COMPILE_THREADS",
    "TORCHINDUCTOR_CPP_WRAPPER",
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
    "TORCHINDUCTOR_FREEZING",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCH_COMPILE_DISABLE",
    "TRITON_INTERPRET",
)
"""The environment variables that a report may hold; no other is ever recorded."""


class Recorder:
    """Records the compilations of this thread, from `with` to its end.

    At level `full` torch's caches are bypassed, so that every step runs and is seen; at level
    `light` they stay on, and the capabilities list what a cache hit hides. Enter it in the thread
    that compiles; again, for what belongs to the same program, such as a backward that is compiled
    later. `report` may be called after a failure inside of the `with` too.
    """

    def __init__(
        self,
        level: str = FULL,
        request: Request | None = None,
        budgets: Sequence[float] = (),
    ):
        self.level = level
        self.step = "prepare"  # what is under way, of which an error is told
        self.request = request or Request(capture=level)
        self.texts = TextWriter()
        self.places = Places()
        self.phases = PhaseRecorder()
        self._patches = Patches()
        self.trace = TraceHandler(self._patches)
        self.graphs = GraphRecorder(self._patches, self.places, self.texts)
        self.passes = PassRecorder(self._patches, self.graphs)
        self.sizes = SizeSymbols(partial(_line_of, self.trace.strings, self.places))
        self.breaks = BreakRecorder(self.places, self.sizes.named, self.trace.strings)
        self.bytecode = BytecodeRecorder(self.places, self.texts)
        self.guards = GuardRecorder(self.places, GuardTexts())
        self.autotune = AutotuneRecorder(self.places, self.texts)
        self.cache = CacheRecorder(is_bypassed=level == FULL)
        self.lowering = LoweringRecorder(self.graphs)
        self.fusion = FusionRecorder(self._patches, self.lowering)
        self.cuda_graphs = CudaGraphRecorder(self.lowering)
        self.budgets = BudgetRecorder(self._patches, self.places, budgets)
        self.saved_reasons = SavedReasonRecorder()
        self.kernels = KernelRecorder(
            self._patches, self.graphs, self.lowering, self.places, self.texts
        )

    def tell(self, progress: ProgressCallback | None) -> None:
        """Report to `progress` what happens: phases, and kernels and ends where it has methods.

        What one of them raises ends the work, as `ProgressRaised`.
        """
        if progress is None:
            return
        self.phases.on_phase = pass_errors(progress)
        self.phases.on_phase_end = pass_errors(getattr(progress, "end", None))
        self.kernels.on_kernel = pass_errors(getattr(progress, "kernel", None))

    def __enter__(self) -> Self:
        self._patches.threads.clear()
        self._patches.threads.add(threading.get_ident())
        try:
            self.trace.install()
            self.trace.watch(self.phases.list_hooks(self._patches))
            if self.level == FULL:
                self._patches.config(tp.INDUCTOR_CONFIG, {"fx_graph_cache": False}, "cache")
            for part in (
                # passes before graphs, which show the joint graph around its passes
                *(self.passes, self.graphs, self.lowering, self.fusion, self.cuda_graphs),
                *(self.budgets, self.saved_reasons, self.kernels, self.breaks, self.bytecode),
                *(self.guards, self.autotune, self.cache),
            ):
                self.trace.watch(part.list_hooks())
            for name in SYMBOL_RECORDS:
                self.trace.on(name, partial(_take_size, self.sizes), "breaks")
            self.phases.mark("compile", is_begin=True)
        except BaseException:
            self._patches.close()
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.phases.mark("compile", is_begin=False)
        finally:
            self._patches.close()
            self.breaks.take_failure(error)
            for part in (self.breaks, self.graphs, self.passes, self.lowering, self.kernels):
                part.close()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Record nothing of this thread inside."""
        ident = threading.get_ident()
        self._patches.threads.discard(ident)
        try:
            yield
        finally:
            self._patches.threads.add(ident)

    def report(self, outcome: Outcome | None = None) -> Report:
        """Everything that was recorded, as plain data."""
        sources = SourceTable([self.places], self.texts)
        sites = CallSites(self.places, sources, self.graphs.traces())
        nodes = self.graphs.node_table(sites.of)
        rows = self._rows(sources, nodes)
        tables: dict[str, Table[Any]] = {
            name: Table.of(TABLES[name], part) for name, part in rows.items()
        }
        tables["nodes"] = nodes
        tables["pass_nodes"] = self.graphs.node_table(sites.of, of_steps=True)
        links = self._links(sources, nodes, rows["kernels"])
        calls = [Link(line, caller, "line-line") for line, caller in sites.pairs]
        tables["links"] = Table.of(Link, [*links, *calls])
        makers: dict[str, Callable[[], Table[Any]]] = {
            name: partial(_same, table) for name, table in tables.items()
        }
        frames = self.bytecode.finish(self.graphs.graphs)
        makers["bytecode"], late = frames.table, {"bytecode": frames.texts}
        built = self.kernels.find_libraries(rows["kernels"])
        if built:
            host = HostCode(built, self.places)
            makers["assembly"], late["assembly"] = host.table, host.texts
        return Report(
            environment=read_environment(),
            request=self.request,
            outcome=self._placed(outcome or Outcome()),
            tables=Lazy(
                makers
                | {
                    "kernel_lines": self.kernels.line_reader(),
                    "cache_parts": self.cache.parts.table,
                }
            ),
            texts=LateTexts(self.texts.finish(), late),
            extra={
                "other_records": dict(self.trace.others),
                MODULE_CLASSES: self.graphs.module_classes,
                **({} if (cluster := find_cluster()) is None else {CLUSTER: cluster.facts}),
            },
        )

    def _placed(self, outcome: Outcome) -> Outcome:
        """An outcome with the line of what the program itself does wrong."""
        if outcome.ok or self.breaks.own_error is None:
            return outcome
        file, line = self.breaks.own_error
        return replace(outcome, file=self.places.shown(file), line=line)

    def captured(self) -> Report:
        """The graphs and their sources alone, which costs a small part of what `report` does."""
        texts = TextWriter()
        sources = SourceTable([self.places], texts)
        nodes = self.graphs.node_table(CallSites(self.places, sources, self.graphs.traces()).of)
        parts: dict[str, Table[Any]] = {
            "sources": Table.of(TABLES["sources"], sources.rows),
            "graphs": Table.of(TABLES["graphs"], self.graphs.table.rows()),
            "nodes": nodes,
        }
        tables: dict[str, Table[Any]] = {name: Table.of(row, ()) for name, row in TABLES.items()}
        return Report(read_environment(), self.request, Outcome(), tables | parts, texts.finish())

    def _rows(self, sources: SourceTable, nodes: Table[Any]) -> dict[str, list[Any]]:
        kernels = self.kernels.rows(sources.line_id, nodes)
        return {
            "sources": sources.rows,
            "graphs": self.graphs.table.rows(),
            "fusion": self.fusion.rows(),
            "passes": self.passes.rows,
            "lowerings": [row for low in self.lowering.lowered for row in low.lowerings],
            "scheduler_nodes": [
                n for low in self.lowering.lowered for n in (*low.before, *low.after)
            ],
            "buffers": [b for low in self.lowering.lowered for b in low.buffers],
            "kernels": kernels,
            "collectives": self.lowering.collectives(kernels, nodes, sources.line_id),
            "cuda_graphs": self.cuda_graphs.rows(kernels, sources.line_id),
            "memory_budgets": self.budgets.budgets,
            "recomputed": self.budgets.recomputed,
            "saved_reasons": self.saved_reasons.rows,
            "wrappers": self.kernels.wrappers,
            "breaks": self.breaks.table.rows(),
            "recompiles": self.breaks.recompiles(),
            "guards": self.guards.rows(),
            "autotune": self.autotune.rows,
            "cache": self.cache.rows,
            "phases": nest(self.phases.marks, self.phases.started, self.phases.name_threads()),
            "capabilities": list(self._capabilities(nodes)),
        }

    def _capabilities(self, nodes: Table[Any]) -> Iterator[Capability]:
        for pane in (*_PANES, *self.budgets.panes):
            reason = self._patches.missing.get(pane) or self._patches.failed.get(pane)
            if reason is None and self.level != FULL and pane in _LOST_BY_HITS:
                reason = self._hidden()
            yield Capability(pane, reason is None, reason)
        if "call_function" in nodes.columns["op"] and not any(nodes.columns["line"]):
            yield Capability("source lines", available=False, reason=_NO_LINES)

    def _hidden(self) -> str | None:
        """Why a part is missing that torch's caches answered for."""
        hits = sorted({row.cache for row in self.cache.rows if row.outcome == "hit"})
        if not hits:
            return None
        return f'torch took it from its cache ({", ".join(hits)}); capture="full" runs it again'

    def _links(self, sources: SourceTable, nodes: Table[Any], kernels: list[Any]) -> Iterator[Link]:
        yield from sources.tie_nodes(nodes)
        yield from self.graphs.table.tie_nodes()
        yield from self.lowering.links()
        yield from self.kernels.links(kernels)


def _same(table: Table[Any]) -> Table[Any]:
    return table


# functions, for a method would hold the recorder, and with it the tensors of its guards, until the
# next collection of cycles
def _take_size(sizes: SizeSymbols, record: Record) -> None:
    sizes.take(record.name, record.meta, record.compile_id)


def _line_of(
    files: Mapping[int, str], places: Places, stack: Sequence[Mapping[str, Any]]
) -> str | None:
    """The user's own line of a stack of the trace, or that of a library."""
    return describe_line(files, stack, places.shown, places.is_own, places.is_user)


def read_environment() -> Environment:
    """Where a compilation in this process runs; starts no compiler and probes nothing."""
    import torch

    isa = tp.CPU_CAPABILITY.find()  # what the processor offers; what kernels use is in their source
    return Environment(
        workbench=__version__,
        python=platform.python_version(),
        torch=str(torch.__version__),  # of a class of its own
        triton=_version("triton"),
        platform=f"{platform.system()} {platform.machine()}",
        cpu=_cpu(),
        isa="" if isa is None else str(isa()),
        cores=os.cpu_count() or 0,
        threads=torch.get_num_threads(),
        variables=tuple((k, os.environ[k]) for k in _VARIABLES if k in os.environ),
    )


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
