"""`wb.profile` on a device beside torch's profiler: `python -m tests.gpu.profiling`."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import workbench as wb
from tests.gpu.figures import print_figure, print_rows, print_unchecked, run_steps
from tests.gpu.launching import waiting
from tests.gpu.ranks import ALIKE, FEWEST, alike
from tests.gpu.tracing import Kernels, kernels_of
from workbench.analysis.cost.costs import choose_cost
from workbench.report import Report

NEAR = 0.2
_CALLS = 20


def layers(x: Tensor, w: Tensor) -> Tensor:
    for _ in range(3):
        x = torch.softmax(torch.relu(x @ w), -1) + x.sum(0)
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


@dataclass(frozen=True)
class Profiled:
    """Times by kernel as `wb.profile` and as a trace of whole calls have them, and what must be so.

    `clock` is what the profile says of its times; `in_step` and `of_step` count the kernels of a
    training step that have a time, and all of them.
    """

    by_profile: Mapping[str, float]
    by_trace: Mapping[str, float]
    kernels: int
    measured: int
    is_unchanged: bool
    overview: str
    clock: str
    in_step: int
    of_step: int


def tell(found: Profiled) -> None:
    """Print how the two profiles agree, and whether the code was left as it was."""
    print_figure(
        "kernels that wb.profile has measured",
        found.measured,
        "kernels",
        reach=found.kernels,
        rule=">=",
        note=f"of {found.kernels}",
    )
    print_figure(
        "code and result unchanged by the profile",
        float(found.is_unchanged),
        "yes or no",
        reach=1,
        rule=">=",
    )
    is_measured = found.overview.startswith("measured")
    print_figure(
        "the Overview uses measured time",
        float(is_measured),
        "yes or no",
        reach=1,
        rule=">=",
        note=found.overview,
    )
    print_figure(
        "kernels of a training step that wb.profile has measured",
        found.in_step,
        "kernels",
        reach=found.of_step,
        rule=">=",
        note=f"of {found.of_step}",
    )
    print_figure(
        "kernel times come from a trace",
        float("GPU events" not in found.clock),
        "yes or no",
        reach=1,
        rule=">=",
        note=found.clock,
    )
    rows = [
        {"kernel": name, "profile_us": time, "trace_us": found.by_trace.get(name)}
        for name, time in found.by_profile.items()
    ]
    print_rows("kernel times", rows)
    shared = found.by_profile.keys() & found.by_trace.keys()
    pairs = [(found.by_trace[name], found.by_profile[name]) for name in sorted(shared)]
    name = "rank correlation of wb.profile and torch's profiler"
    if len(pairs) < FEWEST:
        print_unchecked(name, f"{len(pairs)} kernels are in both profiles")
        return
    note = f"{len(pairs)} generated kernels"
    print_figure(name, alike(pairs), "Spearman", reach=ALIKE, rule=">=", note=note)
    worst = max(abs(timed / traced - 1) for traced, timed in pairs)
    name = "largest difference between a kernel's time in wb.profile and in a trace"
    print_figure(name, worst, "share", reach=NEAR, note=note)


def per_call(kernels: Kernels) -> dict[str, float]:
    """The median time of each kernel by its name."""
    found: dict[str, list[float]] = {}
    for name, time in kernels:
        found.setdefault(name, []).append(time)
    return {name: statistics.median(times) for name, times in found.items()}


def profiled(device: str, size: int = 2048) -> Profiled:
    """Profile a few layers in both ways."""
    x, w = (torch.randn(size, size, device=device) * 0.02 for _ in range(2))
    compiled: Any = wb.aot_compile(layers, (x, w), grad=False)
    before, code = compiled(x, w), sources(compiled.report)
    made = wb.profile(compiled, (x, w))
    after = compiled(x, w)
    generated = {k.name for k in compiled.report.kernels if k.language != "extern"}
    timed = [(row.name, row.time_us) for row in made.kernels if row.name in generated]
    traced = kernels_of(lambda: compiled(x, w), waiting(device), _CALLS)
    cost = choose_cost(made.report)
    w.requires_grad_()
    step = wb.profile(wb.aot_compile(layers, (x, w)), (x, w)).report.kernels
    return Profiled(
        by_profile=per_call(timed),
        by_trace=per_call([row for row in traced if row[0] in generated]),
        kernels=len(made.report.kernels),
        measured=sum(kernel.time_us is not None for kernel in made.report.kernels),
        is_unchanged=torch.equal(before, after) and sources(made.report) == code,
        overview="nothing is known" if cost is None else cost.source,
        clock="; ".join(made.notes),
        in_step=sum(kernel.time_us is not None for kernel in step),
        of_step=len(step),
    )


def sources(report: Report) -> Sequence[str | None]:
    """The texts of the kernels and of the programs that call them."""
    rows = (*report.kernels, *report.wrappers)
    return [report.texts.get(row.text or "") for row in rows]


def main(device: str = "cuda") -> int:
    """Profile on a device."""
    return run_steps({"profile": lambda: tell(profiled(device))})


if __name__ == "__main__":
    sys.exit(main())
