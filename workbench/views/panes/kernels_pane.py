"""The kernels and library calls, each with everything that it is tied to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from workbench.analysis.cost.costs import get_rooflines, list_all_costs
from workbench.analysis.cost.identical_kernels import grouped
from workbench.analysis.fusion.fusion import kernel_kinds, mark_kernels
from workbench.analysis.fusion.traffic import bytes_of
from workbench.analysis.gpu_model.roofline import list_host_rooflines
from workbench.number_text import (
    count_text,
    format_bytes,
    format_percent,
    format_us,
    number_text,
    plural,
)
from workbench.report import Kernel, Report
from workbench.report.machine_rows import (
    CODE_STAGES,
    HOST_STAGE,
    KernelRoofline,
    Launch,
    MatrixCell,
    Resources,
)
from workbench.report.measures import measures
from workbench.report.record import list_linked_pairs
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL
from workbench.report.texts import find_text
from workbench.views.panes.pane import Content, Pane, Passes, ViewContext, missing
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row, shorten
from workbench.views.wire.gpu_messages import Config
from workbench.views.words.record_words import format_line_numbers, list_kernel_ops

FAR_BELOW = 0.1  # of its roof: a kernel that reaches less waits for something else
_LANGUAGES = {"triton": "Triton", "cpp": "C++", "extern": "library"}
_MODEL = (
    "Model: Inductor's byte and operation counts at full bandwidth and peak rate of the {target}. "
    "Launches, latency and caches are not modelled."
)
_MEASURED = "Measured by profile()"


def document(report: Report, context: ViewContext) -> Content:
    """Every kernel in the order of the compiler."""
    reader = _Ties(report)
    kernels = [reader.kernel(kernel) for kernel in report.kernels]
    data = {"kernels": kernels, "no_assembly": explain_no_assembly(report)}
    return Content(data, len(kernels), empty=None if kernels else _empty(report))


def _empty(report: Report) -> wire.Note:
    """Why there is no kernel to show."""
    backend = report.request.backend
    text = f"The backend {backend} generates no kernels; -b inductor does."
    if backend == "inductor":
        text = "The graph needs no kernels: its outputs are inputs or constants."
    if report.request.kind == "explanation":
        text = "wb.explain generates no kernels; wb.aot_compile does."
    return missing(report, "kernels", "No kernels.", text)


class _Ties:
    """What kernels are tied to, looked up once."""

    def __init__(self, report: Report):
        self.report = report
        self.marks = mark_kernels(report)
        self.same = {k.id: group[0].id for group in grouped(report) for k in group}
        self.passes = Passes(report)
        self.kinds = kernel_kinds(report)
        self.graphs = {lowered: graph for graph, lowered in report.lowered.items()}
        self.groups = _map_groups(report)
        self.lengths: dict[str | None, int] = {None: 0}
        self.buffers: dict[str, list[str]] = defaultdict(list)
        self.configs = configs(report)
        self.costs = {cost.kind: cost.by_kernel for cost in list_all_costs(report)}
        self.rooflines = get_rooflines(report)
        self.verdicts = verdicts(report)
        self.wrappers = dict(list_linked_pairs(report, "kernel-wrapper"))
        for kernel, buffer in list_linked_pairs(report, "kernel-buffer"):
            self.buffers[kernel].append(buffer)

    def _length(self, key: str | None) -> int:
        """Lines of the text behind a content hash; 0 when it was not kept."""
        if key not in self.lengths:
            text = find_text(self.report.texts, key)
            self.lengths[key] = 0 if text is None else text.count("\n") + 1
        return self.lengths[key]

    def kernel(self, kernel: Kernel) -> wire.Kernel:
        id, lines, kind = kernel.id, self._length(kernel.text), self.kinds[kernel.id]
        place = self.rooflines.get(id)
        return convert_row(
            wire.Kernel,
            kernel,
            label=list_kernel_ops(kernel),
            same=self.same[id],
            kind=kind,
            side=self.passes.kernel(kernel),
            mark=self.marks[id],
            numbers={
                name: value
                for name, measure in measures(Kernel).items()
                if measure.place is not None and (value := getattr(kernel, name)) is not None
            },
            cost={k: shorten(by[id]) for k, by in self.costs.items() if id in by},
            bound=None if place is None else place.bound,
            graph=self.graphs.get(kernel.graph, kernel.graph),
            groups=self.groups.get(id, []),
            buffers=self.buffers.get(id, []),
            code=f"code:{id}" if lines else None,
            code_lines=lines,
            wrapper=self.wrappers.get(id),
            verdict=self.verdicts[id],
            facts=_facts(self.report, kernel, kind, lines),
            configs=self.configs.get(id, []),
        )


def _map_groups(report: Report) -> dict[str, list[str]]:
    """By kernel id: the ids of the final scheduler groups that it came from."""
    group_of: dict[str, str] = {}
    for node in report.scheduler_nodes:
        if node.phase == "after":
            for name in (node.name, *node.members):
                group_of[f"{node.graph}:{name.rpartition(':')[2]}"] = node.id
    groups: dict[str, list[str]] = defaultdict(list)
    lowered = report.lowered
    for kernel in report.kernels:
        # a record may name no graph that was lowered from that of its nodes
        own = kernel.graph if kernel.graph.startswith("i") else "i0"
        graph = lowered.get(kernel.graph, own)
        for name in kernel.scheduler_nodes:
            full = name if ":" in name else f"{graph}:{name}"
            group = group_of.get(full)
            if group is not None and group not in groups[kernel.id]:
                groups[kernel.id].append(group)
    return dict(groups)


def _facts(report: Report, kernel: Kernel, kind: str, lines: int) -> list[tuple[str, str]]:
    """What is worth knowing of a kernel, in words; numbers are Inductor's estimates."""
    moved = (kernel.bytes_read or 0) + (kernel.bytes_written or 0)
    is_generated = kernel.is_generated
    ratio = kernel.flops / moved if kernel.flops and moved else None
    intensity = "" if ratio is None else f"{number_text(ratio, 'amount')} FLOP per byte"
    time = "" if kernel.time_us is None else f"{format_us(kernel.time_us)}, measured"
    suffix = " each" if kernel.calls > 1 else ""
    read, written, flops = kernel.bytes_read, kernel.bytes_written, kernel.flops
    language = _LANGUAGES.get(kernel.language, kernel.language)
    rows = (
        ("Name", kernel.name),
        ("Kind", f"{language}, {kind}" if is_generated else kind),
        ("Lines", format_line_numbers(report, kernel)),
        ("Calls", str(kernel.calls) if kernel.calls > 1 else ""),
        ("Reads", "" if read is None else format_bytes(read) + suffix),
        ("Writes", "" if written is None else format_bytes(written) + suffix),
        ("Work", f"{count_text(flops)} FLOP{suffix} (estimate)" if flops else ""),
        ("Intensity", intensity),
        ("Time", time),
        ("Pass", "backward" if kernel.is_backward else ""),
        ("Source", plural(lines, "line") if lines else ""),
    )
    return [(name, value) for name, value in rows if value]


class Verdict(NamedTuple):
    """`text` is the sentence, `source` where its numbers come from."""

    text: str
    source: str


_ONLY_TOLD = Verdict(
    "No times in the log",
    "A kernel log has neither times nor traffic.",
)


_NOT_COUNTED = Verdict(
    "Traffic unknown: k.check(…) counts it",
    "A run counts the reads, writes and operations of a hand-written kernel.",
)


def verdicts(report: Report) -> dict[str, Verdict]:
    """The verdict of every kernel by its id, of one call: by its roof, by its time, or why none."""
    roofs = get_rooflines(report) or {row.kernel: row for row in list_host_rooflines(report)}
    if report.request.kind == KERNEL_LOG:
        return {kernel.id: _ONLY_TOLD for kernel in report.kernels}
    if report.request.kind == OWN_KERNEL and all(row.bound_us is None for row in roofs.values()):
        return {kernel.id: _NOT_COUNTED for kernel in report.kernels}
    return {kernel.id: _verdict(kernel, roofs) for kernel in report.kernels}


_ABOVE = {
    "memory": "DRAM allows, because its data may be cached",
    "compute": "the measured peak: its operations may be overcounted, or the peak measured too low",
}
"""What a measured time below the least one is told of, by what that is bound by."""


def _verdict(kernel: Kernel, roofs: Mapping[str, KernelRoofline]) -> Verdict:
    row = roofs.get(kernel.id)
    if row is None or row.bound_us is None:
        return _without_roof(kernel, row)
    bound = "No known bound" if row.bound is None else f"Bound by {row.bound}"
    text = f"{bound}, at least {format_us(row.bound_us)}{_name_calls(kernel)}"
    model = _MODEL.format(target=row.target)
    if row.note is not None:
        model = f"{model} Here {row.note}."
    if row.measured_us is None:
        return Verdict(f"{text} (model)", f"{model} Nothing was measured.")
    reached = f"{format_percent(row.bound_us, row.measured_us)} of the roofline"
    if row.measured_us < row.bound_us:
        reached += f", faster than {_ABOVE.get(row.bound or '', 'the rates allow')}"
    if row.bound is not None and row.bound_us < FAR_BELOW * row.measured_us:
        least = f"At least {format_us(row.bound_us)}{_name_calls(kernel)} by {row.bound}"
        text, reached = least, f"but {row.bound} is not the bottleneck: {reached}"
    text = f"{text}, {reached} ({format_us(row.measured_us)} measured)"
    return Verdict(text, f"{model} {_MEASURED}: {format_us(row.measured_us)} per call.")


def _without_roof(kernel: Kernel, row: KernelRoofline | None) -> Verdict:
    """What is known where no model gives a least time."""
    no_roof = "Peak rates of this CPU are unknown; a profile measures them."
    if row is not None:
        no_roof = f"No roofline time: {row.note}." if row.note else "No roofline time is known."
    if kernel.time_us is None and kernel.is_collective:
        return Verdict("Limited by other GPUs; see the Streams tab", no_roof)
    if kernel.time_us is None:
        return Verdict("Not measured: profile() times it", no_roof)
    time = kernel.time_us / max(kernel.calls, 1)
    rates, per_second = [], 1e6 / time if time > 0 else 0.0
    if moved_bytes := bytes_of(kernel):
        rates.append(number_text(moved_bytes * per_second, "bytes_per_second"))
    if kernel.flops:
        rates.append(number_text(kernel.flops * per_second, "flops_per_second"))
    moved = f", {' and '.join(rates)}" if rates and per_second else ""
    source = f"{_MEASURED}, with Inductor's byte and operation counts. {no_roof}"
    return Verdict(f"{format_us(time)} measured{_name_calls(kernel)}{moved}", source)


def _name_calls(kernel: Kernel) -> str:
    """Whose a time of one call is, where there are several."""
    return f" in each of {kernel.calls} calls" if kernel.calls > 1 else ""


def configs(report: Report) -> Mapping[str, list[Config]]:
    """By kernel, its configurations in the order of the compiler, then those for other GPUs."""
    stages: dict[tuple[str, str], dict[str, str | None]] = defaultdict(dict)
    for row in report.assembly:
        is_kept = row.text is not None and row.text in report.texts
        why = None if is_kept else row.note or "Not kept in the report."
        stages[row.kernel, row.config][row.stage] = why
    rows = {row.config: row for row in report.resources}
    cells = {row.config: row for row in report.matrix}
    launched = _map_launches(report)
    by_kernel: dict[str, list[Config]] = defaultdict(list)
    for (kernel, config), texts in stages.items():
        own, cell = rows.get(config), cells.get(config)
        by_kernel[kernel].append(
            {
                "id": config,
                "target": cell.target if cell else report.request.target,
                "choice": "as built" if HOST_STAGE in texts else _choice(own or cell),
                "facts": [*_list_config_facts(own or cell), *launched.get(config, ())],
                "note": (own or cell or _NOTHING).note,
                "stages": {stage: texts[stage] for stage in CODE_STAGES if stage in texts},
            }
        )
    return by_kernel


def _map_launches(report: Report) -> Mapping[str, list[tuple[str, str]]]:
    """By configuration, how often it was launched or timed, and on which grids."""
    facts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    by_config: dict[tuple[str, bool], list[Launch]] = defaultdict(list)
    for row in report.launches:
        by_config[row.config, row.is_timing].append(row)
    for (config, is_timing), rows in by_config.items():
        count = plural(sum(row.count for row in rows), "time")
        grids = list(dict.fromkeys(" × ".join(map(str, row.grid)) for row in rows if row.grid))
        more = f" and {len(grids) - _GRIDS} more" if len(grids) > _GRIDS else ""
        on = f", grid {', '.join(grids[:_GRIDS])}{more}" if grids else ""
        facts[config].append(("Timed" if is_timing else "Launched", f"{count}{on}"))
    return facts


def explain_no_assembly(report: Report) -> str | None:
    """Why there is no machine code of a GPU, in a sentence with what to do; None when there is."""
    if len(report.assembly):
        return None
    why = report.why_missing("assembly")
    if why is not None:
        return f"{why[0].upper()}{why[1:]}."
    languages = {kernel.language for kernel in report.kernels}
    if "triton" in languages:
        return "The report has no machine code for these kernels. Compile again to keep it."
    if "cpp" in languages or report.request.target in ("cpu", "host", ""):
        return (
            "This was compiled for the CPU. Compile it with "
            'target="h100" (%aot_compile -t h100) to see the code for a GPU.'
        )
    return "No GPU kernel was generated: all work is in library calls."


_NOTHING = Resources("", "", "", 0, 0)
_GRIDS = 3  # that are named


def _choice(row: Resources | MatrixCell | None) -> str:
    if row is None:
        return ""
    words = [row.choice] if row.choice else []
    if row.warps:
        words.append(plural(row.warps, "warp"))
    if row.stages and row.stages > 1:
        words.append(f"{row.stages} stages")
    return ", ".join(words)


def _list_config_facts(row: Resources | MatrixCell | None) -> Iterator[tuple[str, str]]:
    if row is None:
        return
    if row.registers is not None:
        yield "Registers", str(row.registers)
    yield from _counted(row) if isinstance(row, Resources) else _compared(row)
    if row.occupancy is not None:
        limit = f", limited by {row.limiter}" if row.limiter else ""
        model = " (estimate)" if row.estimate else ""
        yield "Occupancy", f"{format_percent(row.occupancy)}{limit}{model}"
    if row.instructions is not None:
        yield "Instructions", number_text(row.instructions, "whole")


def _counted(row: Resources) -> Iterator[tuple[str, str]]:
    if row.scalar_registers is not None:
        yield "Scalar registers", str(row.scalar_registers)
    if row.spill_stores is not None:
        stores, loads = row.spill_stores, row.spill_loads
        words = f"{plural(stores, 'store')}, {plural(loads or 0, 'load')}"
        text = str(stores) if loads is None else words
        yield "Spills", text if stores or loads else "none"
    if row.stack:
        yield "Stack", format_bytes(row.stack)
    if row.smem_bytes is not None:
        yield "Shared memory", format_bytes(row.smem_bytes)


def _compared(row: MatrixCell) -> Iterator[tuple[str, str]]:
    if row.spills is not None:
        yield "Spills", str(row.spills) if row.spills else "none"
    if row.smem_bytes is not None:
        yield "Shared memory", format_bytes(row.smem_bytes)


PANE = Pane("kernels", "Kernels", document)
