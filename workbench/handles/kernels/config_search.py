"""The search of configurations: each that was compiled is judged, timed by a model, and placed.

`rank_configs` of a program and of a kernel, `tune`, and sweeps of block sizes all end here. They
differ in what they compile, and in where they keep the answer. Nothing is run: a device may order
the first few differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from workbench.analysis.forecast.forecast import RecordedWork
from workbench.analysis.kernel_configs.config_space import find_division
from workbench.analysis.kernel_configs.triton_source import TritonSource
from workbench.analysis.kernel_time.kernel_time import (
    AnyLaunch,
    AnyWork,
    LoopLaunch,
    ProductTile,
    ProductWork,
    TemplateTile,
    TemplateWork,
    time_kernel,
)
from workbench.analysis.kernel_time.product_times import count_l2_bytes, count_programs
from workbench.analysis.product_configs.user_product import Placing
from workbench.analysis.tuning.candidate import (
    NO_CODE,
    NO_FIT,
    RANKED,
    SPILLS,
    Candidate,
    rank_candidates,
)
from workbench.compiler.virtual_gpu.kernel_choice import Built
from workbench.number_text import plural
from workbench.report.machine_rows import Resources
from workbench.specs import Gpu

Described = tuple[AnyWork, AnyLaunch] | str
"""What a kernel does in one configuration, and how it is launched; or why no model knows that."""
Describe = Callable[[Resources], Described]
NO_MODEL = (
    "This kernel's grid cannot be modelled, so configurations are ordered by spills and occupancy."
)
_TAKEN = ("registers", "spills", "smem_bytes", "blocks", "occupancy", "limiter")
_WIDTHS = {"64": 8, "32": 4, "16": 2, "8": 1, "1": 1}


def judge_built(
    candidate: Candidate, built: Built | None, gpu: Gpu, describe: Describe
) -> Candidate:
    """Return the verdict on a configuration, and its modelled time if it can be launched."""
    if built is None:
        return replace(candidate, reason="the budget was used up")
    if built.is_late:
        return replace(candidate, verdict="takes too long", reason=built.note)
    resources = built.resources
    if resources is None:
        why = (built.note or "").partition(": ")[2] or built.note
        return replace(candidate, verdict=NO_CODE, reason=why)
    figures = {name: getattr(resources, name) for name in _TAKEN}
    judged = replace(candidate, reason=built.note or resources.note, **figures)
    if resources.blocks == 0:
        return replace(judged, verdict=NO_FIT, reason=resources.note)
    judged = _time(judged, describe(resources), gpu)
    if built.loop is not None:
        if built.loop.spilled:
            count = plural(built.loop.spilled, "register")
            reason = f"each K-loop iteration spills and reloads {count}"
            return replace(judged, verdict=SPILLS, reason=reason)
    elif resources.spills:
        amount = plural(resources.spills, "store or load", "stores and loads")
        return replace(judged, verdict=SPILLS, reason=f"{amount} of spilled registers")
    return replace(judged, verdict=RANKED)


def _time(candidate: Candidate, described: Described, gpu: Gpu) -> Candidate:
    """The candidate with its modelled time, or with the reason why there is none."""
    if isinstance(described, str):
        return replace(candidate, reason=candidate.reason or described)
    work, launch = described
    modelled = time_kernel(work, launch, gpu)
    if modelled.us is None:
        return replace(candidate, reason=candidate.reason or modelled.because)
    candidate = replace(candidate, model_us=modelled.us, because=modelled.because)
    if isinstance(work, ProductWork) and isinstance(launch, ProductTile):
        programs, l2_bytes = count_programs(work, launch), count_l2_bytes(work, launch)
        candidate = replace(candidate, grid=round(programs), l2_bytes=l2_bytes)
    return candidate


def order_candidates(judged: Sequence[Candidate], place: Placing | None = None) -> list[Candidate]:
    """Order configurations by modelled time and earlier best configs, with discarded ones last.

    If all configurations spill, none is discarded for spilling.
    """
    if not any(candidate.verdict == RANKED for candidate in judged):
        judged = [
            replace(candidate, verdict=RANKED) if candidate.verdict == SPILLS else candidate
            for candidate in judged
        ]
    if place is None:
        return rank_candidates(judged)
    placed = list(judged)
    at = [n for n, candidate in enumerate(judged) if candidate.verdict in (RANKED, SPILLS)]
    times = place([judged[n].config for n in at], [judged[n].model_us for n in at])
    for index, n in enumerate(at):
        if not isinstance(times, str):
            placed[n] = replace(judged[n], placed_us=times[index])
        elif judged[n].verdict == RANKED:
            placed[n] = replace(judged[n], reason=times)
    return rank_candidates(placed)


def describe_loop(
    gpu: Gpu, source: TritonSource, recorded: RecordedWork, made: Candidate, taken: Resources
) -> Described:
    """Describe an Inductor-generated loop or reduction in one configuration."""
    division, work = find_division(source, made.config), recorded.work
    if division is None or work is None:
        return NO_MODEL
    width = max(map(count_bytes, source.pointers), default=4)
    threads, stack = made.warps * gpu.warp_size, taken.stack or 0
    resident, kernel_us = taken.blocks or 1, recorded.kernel_us
    return work, LoopLaunch(division, resident, threads, stack, width, kernel_us)


def describe_template(source: TritonSource, recorded: RecordedWork, made: Candidate) -> Described:
    """Describe an Inductor matmul template whose sizes are in its text."""
    sizes, roof = {**source.fixed, **dict(made.config.sizes)}, recorded.roof
    if roof is None or roof.rate_tflops is None or not {"M", "N", "K"} <= sizes.keys():
        return NO_MODEL
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    batch = max(1, round((roof.flops or 0) / (2 * m * n * k)))
    widths = [count_bytes(kind) for kind in source.pointers] or [4]
    work = TemplateWork(batch, m, n, k, widths[0], widths[-1], roof.rate_tflops)
    rows, columns, depth = (sizes[f"BLOCK_{axis}"] for axis in "MNK")
    return work, TemplateTile(rows, columns, depth, made.warps, made.stages)


def count_bytes(kind: str) -> int:
    """Return the size in bytes of a Triton type, such as "bf16", "fp8e4nv" or "i1"."""
    digits = kind.lstrip("abcdefghijklmnopqrstuvwxyz")
    return next((size for bits, size in _WIDTHS.items() if digits.startswith(bits)), 4)
