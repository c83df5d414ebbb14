"""The kernels and library calls, each with everything that it is tied to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from workbench.analysis.cost.costs import get_rooflines, list_all_costs
from workbench.analysis.cost.identical_kernels import grouped
from workbench.analysis.fusion.fusion import kernel_kinds, mark_kernels
from workbench.analysis.fusion.traffic import bytes_of
from workbench.analysis.gpu_model.roofline import list_host_rooflines
from workbench.report import Kernel, Report
from workbench.report.column_filter import list_linked_pairs
from workbench.report.machine_rows import KernelRoofline
from workbench.report.measures import measures
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL
from workbench.views.panes.kernel_configs import configs, explain_no_assembly
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.panes.passes import Passes
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row, shorten
from workbench.views.words.record_words import format_line_numbers, list_kernel_ops, text_of
from workbench.views.words.units import (
    count_text,
    format_bytes,
    format_percent,
    format_us,
    number_text,
    plural,
)

FAR_BELOW = 0.1  # of its roof: a kernel that reaches less waits for something else
_LANGUAGES = {"triton": "Triton", "cpp": "C++", "extern": "library"}
_MODEL = (
    "Model: the bytes and operations that Inductor counts, at the full bandwidth and rate of the "
    "{target}; launches, latency and caches are left out."
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
        text = "The graph needs none: its results are inputs or constants."
    if report.request.kind == "explanation":
        text = "An explanation only looks; aot_compile makes the kernels."
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
            text = text_of(self.report, key)
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
                for name, said in measures(Kernel).items()
                if said.place is not None and (value := getattr(kernel, name)) is not None
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
    each = " each" if kernel.calls > 1 else ""
    read, written, flops = kernel.bytes_read, kernel.bytes_written, kernel.flops
    language = _LANGUAGES.get(kernel.language, kernel.language)
    rows = (
        ("Name", kernel.name),
        ("Kind", f"{language}, {kind}" if is_generated else kind),
        ("Lines", format_line_numbers(report, kernel)),
        ("Calls", str(kernel.calls) if kernel.calls > 1 else ""),
        ("Reads", "" if read is None else format_bytes(read) + each),
        ("Writes", "" if written is None else format_bytes(written) + each),
        ("Work", f"{count_text(flops)} FLOP{each} (estimate)" if flops else ""),
        ("Intensity", intensity),
        ("Time", time),
        ("Pass", "backward" if kernel.is_backward else ""),
        ("Source", plural(lines, "line") if lines else ""),
    )
    return [(name, value) for name, value in rows if value]


PANE = Pane("kernels", "Kernels", document)


class Verdict(NamedTuple):
    """`text` is the sentence, `source` where its numbers come from."""

    text: str
    source: str


_ONLY_TOLD = Verdict(
    "Not measured: the log has no times",
    "A log of kernels says neither how long they took nor what they read and wrote.",
)


_NOT_COUNTED = Verdict(
    "Not counted: k.check(…) counts what it moves",
    "What a hand-written kernel reads, writes and computes is known once it was run.",
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
    "memory": "DRAM allows: its data may stay in a cache",
    "compute": "the measured rate: its work may be counted too high, or that rate is too low",
}
"""What a measured time below the least one is told of, by what that is bound by."""


def _verdict(kernel: Kernel, roofs: Mapping[str, KernelRoofline]) -> Verdict:
    row = roofs.get(kernel.id)
    if row is None or row.bound_us is None:
        return _without_roof(kernel, row)
    bound = "Not bound by a known rate" if row.bound is None else f"Bound by {row.bound}"
    text = f"{bound}, at least {format_us(row.bound_us)}{_name_calls(kernel)}"
    model = _MODEL.format(target=row.target)
    if row.note is not None:
        model = f"{model} Here {row.note}."
    if row.measured_us is None:
        return Verdict(f"{text} (model)", f"{model} Nothing was measured.")
    reached = f"{format_percent(row.bound_us, row.measured_us)} of the roof"
    if row.measured_us < row.bound_us:
        reached += f", faster than {_ABOVE.get(row.bound or '', 'the rates allow')}"
    if row.bound is not None and row.bound_us < FAR_BELOW * row.measured_us:
        least = f"At least {format_us(row.bound_us)}{_name_calls(kernel)} by {row.bound}"
        text, reached = least, f"which is not what bounds it: {reached}"
    text = f"{text}, {reached} ({format_us(row.measured_us)} measured)"
    return Verdict(text, f"{model} {_MEASURED}: {format_us(row.measured_us)} of one call.")


def _without_roof(kernel: Kernel, row: KernelRoofline | None) -> Verdict:
    """What is known where no model gives a least time."""
    no_roof = "The rates of this CPU are not known: a profile measures them."
    if row is not None:
        no_roof = f"No least time: {row.note}." if row.note else "No least time is known."
    if kernel.time_us is None and kernel.is_collective:
        return Verdict("It waits for other GPUs, not for this one: see Streams", no_roof)
    if kernel.time_us is None:
        return Verdict("Not measured: profile() times it", no_roof)
    time = kernel.time_us / max(kernel.calls, 1)
    rates, per_second = [], 1e6 / time if time > 0 else 0.0
    if moved_bytes := bytes_of(kernel):
        rates.append(number_text(moved_bytes * per_second, "bytes_per_second"))
    if kernel.flops:
        rates.append(number_text(kernel.flops * per_second, "flops_per_second"))
    moved = f", {' and '.join(rates)}" if rates and per_second else ""
    source = f"{_MEASURED}, by the bytes and operations that Inductor counts. {no_roof}"
    return Verdict(f"{format_us(time)} measured{_name_calls(kernel)}{moved}", source)


def _name_calls(kernel: Kernel) -> str:
    """Whose a time of one call is, where there are several."""
    return f" in each of {kernel.calls} calls" if kernel.calls > 1 else ""
