"""What holds a kernel back, in one sentence with its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workbench.analysis.fusion.traffic import bytes_of
from workbench.report import Kernel, Report
from workbench.report.machine_rows import KernelRoofline
from workbench.views.words.units import format_percent, format_us, number_text

_MODEL = (
    "Model: the bytes and operations that Inductor counts, at the full bandwidth and rate of the "
    "{target}; launches, latency and caches are left out."
)
_MEASURED = "Measured by profile()"


class Verdict(NamedTuple):
    """`text` is the sentence, `source` where its numbers come from."""

    text: str
    source: str


def verdicts(report: Report) -> dict[str, Verdict]:
    """The verdict of every kernel by its id, of one call: by its roof, by its time, or why none."""
    roofs = {row.kernel: row for row in report.roofline}
    return {kernel.id: _verdict(kernel, roofs) for kernel in report.kernels}


def _verdict(kernel: Kernel, roofs: Mapping[str, KernelRoofline]) -> Verdict:
    row = roofs.get(kernel.id)
    if row is None or row.bound_us is None:
        return _without_roof(kernel, row)
    bound = "Not bound by a known rate" if row.bound is None else f"Bound by {row.bound}"
    text = f"{bound}, at least {format_us(row.bound_us)}"
    model = _MODEL.format(target=row.target)
    if row.note is not None:
        model = f"{model} Here {row.note}."
    if row.measured_us is None:
        return Verdict(f"{text} (model)", f"{model} Nothing was measured.")
    reached = f"{format_percent(row.bound_us, row.measured_us)} of the roof"
    if row.measured_us < row.bound_us:
        reached += ", faster than DRAM allows: its data may stay in a cache"
    text = f"{text}, {reached} ({format_us(row.measured_us)} measured)"
    return Verdict(text, f"{model} {_MEASURED}: {format_us(row.measured_us)} of one call.")


def _without_roof(kernel: Kernel, row: KernelRoofline | None) -> Verdict:
    """What is known where no model gives a least time."""
    no_roof = "The roofline knows GPUs only, so that there is no least time to compare with."
    if row is not None:
        no_roof = f"No least time: {row.note}." if row.note else "No least time is known."
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
    return Verdict(f"{format_us(time)} measured{moved}", source)
