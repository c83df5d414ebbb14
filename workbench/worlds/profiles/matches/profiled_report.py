"""A report with the times that its kernels took in a profile, which names them by their hash.

Inductor writes each kernel into a file that is called by the hash of its source, and torch.profiler
keeps that name: a kernel of the profile and one of the report are the same when the hash is. Calls
of libraries have none. They are told by their operator, in the order of their calls, where the
profile has as many of them as whole calls of the program need.
"""

from __future__ import annotations

import base64
import hashlib
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from workbench.analysis.gpu_model.roofline import add_measured
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.report.profile_record import TIMED_BY
from workbench.report.record import Report
from workbench.report.rows import Kernel, Source, split_line
from workbench.report.table import Table
from workbench.worlds.profiles.rows.profile_rows import DeviceEvent, RanKernel, RecordedKernel
from workbench.worlds.profiles.rows.run_profile import RunProfile

_LETTERS = 51  # torch cuts the hash so that a name of a file has 52


def hash_kernel(source: str) -> str:
    """The name of the file that Inductor writes a kernel into, without its end.

    `torch._inductor.codecache.code_hash`, the same from torch 2.0 to 2.13.
    """
    digest = hashlib.sha256(source.strip().encode()).digest()
    return "c" + base64.b32encode(digest)[:_LETTERS].decode("utf-8").lower()


def add_profile(report: Report, profile: RunProfile) -> Report:
    """The report with the measured times of the kernels that the profile has, in its costs.

    Raises `UsageError` when the profile has none of the kernels that Inductor generated, and for
    what is no profile.
    """
    if not isinstance(profile, RunProfile):
        raise UsageError(
            f"profile: expected the result of wb.read_profile, got {type(profile).__name__}."
        )
    profile = profile.of_own_rank()
    rows = {row.id: row for row in profile.tables["kernels"]}
    times = _time_generated(report, profile, rows)
    if not times:
        generated = plural(sum(map(_is_generated, report.kernels)), "generated kernel")
        raise UsageError(
            f"{profile.header.source or 'The profile'} is from a different program or compile: "
            f"none of the {generated} ran. Kernels are matched by the hash of their source."
        )
    for own, calls in _match_library_calls(report, profile, rows):
        times |= _share_out(own, [call.us for call in calls])
    kernels = [replace(kernel, time_us=times.get(kernel.id)) for kernel in report.kernels]
    table = Table.of(Kernel, kernels, omitted=report.kernels.omitted)
    where = profile.header.gpu_title or profile.header.device_name
    said = f"by torch.profiler on {where}, {profile.header.source}: {len(times)} of {len(kernels)}"
    return add_measured(
        replace(
            report,
            tables={**report.tables, "kernels": table},
            extra={**report.extra, TIMED_BY: said},
        )
    )


def _is_generated(kernel: Kernel) -> bool:
    return kernel.language == "triton" and kernel.text is not None


def _time_generated(
    report: Report, profile: RunProfile, rows: Mapping[str, RanKernel]
) -> dict[str, float]:
    """By kernel of the report the median µs of one call of the program."""
    runs: dict[str, list[float]] = defaultdict(list)
    for event in _list_events(profile):
        if rows[event.kernel].kernel_hash:
            runs[rows[event.kernel].kernel_hash].append(event.duration_us)
    wanted: dict[str, list[Kernel]] = defaultdict(list)
    for kernel in filter(_is_generated, report.kernels):
        wanted[hash_kernel(report.texts.get(kernel.text or "", ""))].append(kernel)
    times: dict[str, float] = {}
    for name, kernels in wanted.items():
        if runs.get(name):
            times |= _share_out(kernels, runs[name])
    return times


def _share_out(kernels: Sequence[Kernel], runs: Sequence[float]) -> dict[str, float]:
    """Runs of one source among the kernels that have it, in their order, call by call.

    Where they are no whole number of calls of the program, each gets the mean.
    """
    counts = [max(1, kernel.calls) for kernel in kernels]
    whole = sum(counts)
    if len(runs) % whole:
        mean = statistics.fmean(runs)
        return {kernel.id: mean * count for kernel, count in zip(kernels, counts, strict=True)}
    times, at = dict[str, float](), 0
    for kernel, count in zip(kernels, counts, strict=True):
        starts = range(at, len(runs), whole)
        times[kernel.id] = statistics.median(sum(runs[start : start + count]) for start in starts)
        at += count
    return times


@dataclass
class _Call:
    """One call of an operator of a library: its µs, and the kernels of the profile that it ran."""

    us: float = 0.0
    kernels: dict[str, None] = field(default_factory=dict)


def _match_library_calls(
    report: Report, profile: RunProfile, rows: Mapping[str, RanKernel]
) -> Iterator[tuple[list[Kernel], list[_Call]]]:
    """By operator its kernels in the report and all its calls, in order.

    Left out where the calls are no whole number of calls of the program: they cannot be told apart.
    """
    calls: dict[str, dict[int, _Call]] = defaultdict(lambda: defaultdict(_Call))
    for event in _list_events(profile):
        row = rows[event.kernel]
        if not row.kernel_hash and (row.compile_id or row.graph_key) and event.call >= 0:
            call = calls[row.operator][event.call]
            call.us += event.duration_us
            call.kernels[event.kernel] = None
    wanted: dict[str, list[Kernel]] = defaultdict(list)
    for kernel in report.kernels:
        if kernel.language == "extern" and kernel.ops:
            wanted[_name_operator(kernel.ops[0])].append(kernel)
    for operator, kernels in wanted.items():
        runs = list(calls.get(operator, {}).values())
        if runs and len(runs) % sum(max(1, kernel.calls) for kernel in kernels) == 0:
            yield kernels, runs


_ATTENTION = re.compile(r"aten::_scaled_dot_product_(\w+)_attention(_backward)?")


def _name_operator(name: str) -> str:
    """`aten::addmm`, as profiles have it, of `aten.addmm.default`.

    Attention is launched by an operator that the one of the graph calls.
    """
    operator = "::".join(name.split(".")[:2])
    attention = _ATTENTION.fullmatch(operator)
    if attention is None:
        return operator
    return f"aten::_{attention[1]}_attention{attention[2] or '_forward'}"


def add_report(profile: RunProfile, report: Report | Mapping[str, Report]) -> RunProfile:
    """The profile with the lines, nodes and operations of the kernels that the report has.

    Of several reports by name those of which none ran are left out. Raises `UsageError` as
    `add_profile` does.
    """
    if isinstance(report, Mapping):
        return _add_reports(profile, report)
    measured = add_profile(report, profile)
    found = Table.of(RecordedKernel, _list_recorded(profile, measured, ""))
    return RunProfile(profile.header, {**profile.tables, "record": found}, {"": measured})


def _add_reports(profile: RunProfile, reports: Mapping[str, Report]) -> RunProfile:
    """The profile with what several reports say of its kernels, those of which none ran left out.

    Where the profile has no kernel that Inductor generated, it is as it was.
    """
    if not any(row.kernel_hash for row in profile.of_own_rank().tables["kernels"]):
        return profile
    records, rows = dict[str, Report](), list[RecordedKernel]()
    for name, report in reports.items():
        try:
            measured = add_profile(report, profile)
        except UsageError:
            continue  # another compile ran
        records[name] = measured
        rows += _list_recorded(profile, measured, name)
    found = Table.of(RecordedKernel, rows)
    return RunProfile(profile.header, {**profile.tables, "record": found}, records)


def _list_recorded(profile: RunProfile, report: Report, name: str) -> list[RecordedKernel]:
    """The kernels of a measured report that ran in the profile."""
    rows = {row.id: row for row in profile.of_own_rank().tables["kernels"]}
    pairs: dict[str, dict[str, Kernel]] = {id: {} for id in rows}
    generated = defaultdict(list)
    for kernel in filter(_is_generated, report.kernels):
        generated[hash_kernel(report.texts.get(kernel.text or "", ""))].append(kernel)
    for row in rows.values():
        pairs[row.id] |= {kernel.id: kernel for kernel in generated.get(row.kernel_hash, ())}
    for kernels, calls in _match_library_calls(report, profile.of_own_rank(), rows):
        order = [kernel for kernel in kernels for _ in range(max(1, kernel.calls))]
        for place, call in enumerate(calls):
            own = order[place % len(order)]
            for id in call.kernels:
                pairs[id][own.id] = own
    sources = {source.id: source for source in report.sources}
    return [
        RecordedKernel(
            kernel=id,
            record=kernel.id,
            name=kernel.name,
            is_backward=kernel.is_backward,
            lines=tuple(_quote_line(line, sources, report) for line in kernel.lines),
            nodes=tuple(node.partition(":")[2] for node in kernel.nodes),
            operations=tuple(dict.fromkeys(op.split(".")[1] for op in kernel.ops if "." in op)),
            time_us=kernel.time_us,
            rank=profile.header.rank,
            of=name,
            line_ids=tuple(kernel.lines),
        )
        for id, own_kernels in pairs.items()
        for kernel in own_kernels.values()
    ]


def _quote_line(line: str, sources: Mapping[str, Source], report: Report) -> str:
    """`L:s0:12` as file and line, and what is written there."""
    id, number = split_line(line)
    source = sources.get(id)
    if source is None:
        return line
    texts = report.texts.get(source.text or "", "").split("\n")
    at = number - source.first_line
    text = texts[at].strip() if 0 <= at < len(texts) else ""
    return f"{Path(source.file).name}:{number}  {text}".strip()


def _list_events(profile: RunProfile) -> Iterator[DeviceEvent]:
    """In the order in which they were launched."""
    return iter(
        sorted(
            profile.tables["events"],
            key=lambda event: event.start_us if event.launch_us is None else event.launch_us,
        )
    )
