"""How to save launches on a GPU: joined kernels, CUDA graphs, fixed sizes, templates."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from workbench.analysis.forecast.forecast import find_forecast
from workbench.analysis.fusion.fusion import calls
from workbench.analysis.gpu_model.launches import LaunchCosts, Launches, launches, tell_kernels
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts, base
from workbench.number_text import number_text
from workbench.report import Buffer, Kernel
from workbench.report.profile_record import read_measured_call

_TOGETHER = 8  # kernels in one, torch's combo_kernel_max_num_nodes
_SMALLEST = 4  # groups of independent kernels below that are left alone
_LEAST_SHARE = 0.1  # of a call: a CUDA graph that saves less is not proposed
_LAUNCH_BOUND = 2  # times the kernels that the launches take where more samples cost nothing
_COST = LaunchCosts()
_PRODUCTS = frozenset(("mm", "addmm", "bmm", "baddbmm"))
_TUNED = ("max_autotune", "max_autotune_gemm")


def find_independent_kernels(facts: Facts) -> Iterator[Opportunity]:
    """Many small kernels that do not depend on each other."""
    if facts.gpu is None or _has_option(facts, "combo_kernels"):
        return
    bounds = {row.kernel: row.bound_us or 0.0 for row in facts.report.own_roofline}
    levels: list[int] = []
    groups: dict[int, list[Kernel]] = {}
    for call in calls(facts.report):
        level = 1 + max((levels[i] for i in call.inputs), default=0)
        levels.append(level)
        small = call.kernel.is_generated and bounds.get(call.kernel.id, 0.0) < _COST.kernel_us
        if small and call.kernel.calls == 1:
            groups.setdefault(level, []).append(call.kernel)
    wide = [group for group in groups.values() if len(group) >= _SMALLEST]
    fewer = sum(len(group) - ceil(len(group) / _TOGETHER) for group in wide)
    if not fewer:
        return
    kernels = [kernel for group in wide for kernel in group]
    yield Opportunity(
        id="",
        rule="independent-kernels",
        kind="option",
        text=f"Enable combo_kernels: it combines {len(kernels)} small independent kernels, up to "
        f"{_TOGETHER} per launch.",
        sure="measured elsewhere",
        source=f"counted: launches, with {_TOGETHER} kernels per launch. Time: modelled launch "
        "overhead, which is hidden if the GPU is busy with other work",
        kernels=tuple(kernel.id for kernel in kernels),
        **facts.place(n for k in kernels for n in facts.nodes_of(k)),
        saved_bytes_low=0,
        saved_bytes_high=0,
        saved_us_low=0.0,
        saved_us_high=fewer * _COST.kernel_us,
        fewer_kernels=fewer,
        settings=(("combo_kernels", True),),
    )


def cuda_graphs(facts: Facts) -> Iterator[Opportunity]:
    """Kernels so short that the GPU waits for their launches."""
    request = facts.report.request
    has_graphs = len(facts.report.cuda_graphs) or request.mode == "reduce-overhead"
    if facts.gpu is None or has_graphs or not facts.kernels:
        return
    if any(kernel.language == "cpp" for kernel in facts.kernels):
        return
    forecast = find_forecast(facts.report)
    timed = facts.report if forecast is None else forecast.time_kernels()
    model = launches(timed, _COST)
    call = read_measured_call(facts.report)
    measured_us = call.call_us if call is not None and call.quiet else 0.0
    plain_us, graph_us = model.plain_us, model.graph_us
    if forecast is not None:
        # beside exposed collectives launches cost nothing, with or without a graph
        plain_us, graph_us = forecast.call_us, forecast.graph_us
    if request.inputs:  # one launch copies them before the replay
        graph_us += _COST.library_us + _COST.shortest_us
    whole_us = max(plain_us, measured_us)
    if whole_us - graph_us < _LEAST_SHARE * whole_us:
        facts.leave_out(_tell_left_out(whole_us, graph_us))
        if larger := _tell_larger_batch(model):
            facts.leave_out(larger.strip().rstrip("."))
        return
    times = "" if forecast is None else f". Kernels modelled, {forecast.how_far}"
    source = (
        "modelled launch overhead, which is several times higher on some hosts; a profile "
        f"measures it on your host{times}"
    )
    if measured_us > plain_us:
        source = "measured: at most the time of the call minus the modelled GPU time"
    sizes = (
        "" if request.dynamic_shapes is None else " Torch records one graph for each set of sizes."
    )
    yield Opportunity(
        id="",
        rule="cuda-graphs",
        kind="mode",
        text=f"Use CUDA graphs: the GPU waits for {_tell_launches(model)}. A graph launches all "
        f"of its kernels at once, after copying the inputs.{sizes}{_tell_larger_batch(model)}",
        sure="measured elsewhere",
        source=source,
        kernels=tuple(kernel.id for kernel in facts.kernels),
        saved_us_low=0.0,
        saved_us_high=whole_us - graph_us,
        settings=(("mode", "reduce-overhead"),),
    )


def _tell_left_out(whole_us: float, graph_us: float) -> str:
    """What a CUDA graph would save of a call, where that is too little to propose it."""
    share = number_text(_LEAST_SHARE, "percent")
    if graph_us >= whole_us:
        return "a CUDA graph would save nothing, because it first copies the inputs"
    saved = number_text((whole_us - graph_us) / whole_us, "percent")
    return f"a CUDA graph would save at most {saved} of the call (proposed from {share} on)"


def _tell_larger_batch(model: Launches) -> str:
    """That launches would hide the kernels of more samples, where they take much longer."""
    kernels_us = sum(row.device_us for row in model.rows)
    if model.host_us < _LAUNCH_BOUND * kernels_us:
        return ""
    times = (_say(us) for us in (model.host_us, kernels_us))
    return " Modelled: launches take {}, kernels {}, so a larger batch costs little.".format(*times)


def _say(us: float) -> str:
    return number_text(us / 1e6, "seconds")


def _tell_launches(model: Launches) -> str:
    of = f"the launches of {tell_kernels(row.kernel for row in model.rows)}"
    if model.host_us > model.device_us:
        return f"{of}, which take longer than the kernels"
    return f"some of {of}, which take longer than the preceding kernels"


def find_products_with_neighbours(facts: Facts) -> Iterator[Opportunity]:
    """A float32 matmul in a library whose result one pointwise kernel reads at once."""
    request = facts.report.request
    is_tuned = (request.mode or "").startswith("max-autotune")
    if facts.gpu is None or is_tuned or any(_has_option(facts, name) for name in _TUNED):
        return
    full = {r.kernel for r in facts.report.own_roofline if r.rate and r.rate.endswith("fp32")}
    pairs = [
        (kernel, buffer, readers[0])
        for kernel in facts.kernels
        if kernel.id in full and _is_product(kernel)
        for buffer, readers in facts.written(kernel)
        if buffer.kind == "intermediate" and len(readers) == 1
        if readers[0].is_generated and _is_elementwise(facts, buffer, readers[0])
    ]
    if not pairs:
        return
    saved = sum(2 * (buffer.bytes or 0) for _, buffer, _ in pairs)
    kernels = {k.id: k for product, _, reader in pairs for k in (product, reader)}
    time = facts.microseconds(saved, kernels.values())
    if time is None:
        return
    if time < _COST.shortest_us:  # less than any kernel takes: not worth tuning for
        facts.leave_out(f"max-autotune would save at most {_say(time)} of matmul epilogues")
        return
    yield Opportunity(
        id="",
        rule="product-epilogue",
        kind="mode",
        text="Try max-autotune: a generated matmul fuses the elementwise epilogue, while a "
        "library call first writes its result to memory.",
        sure="possible",
        source="counted: one write and one read of the matmul results, if a generated matmul wins"
        + facts.time_source(kernels.values()),
        kernels=tuple(kernels),
        **facts.place(n for k, _, _ in pairs for n in facts.nodes_of(k)),
        saved_bytes_low=0,
        saved_bytes_high=saved,
        saved_us_low=0.0,
        saved_us_high=time,
        fewer_kernels=len(pairs),
        settings=(("mode", "max-autotune"),),
    )


def _is_product(kernel: Kernel) -> bool:
    return kernel.is_library and bool({base(op) for op in kernel.ops} & _PRODUCTS)


def _is_elementwise(facts: Facts, buffer: Buffer, reader: Kernel) -> bool:
    """Whether the reader writes as many elements as it reads of the matmul's result."""
    shapes = [_count(node.shape) for node, _ in facts.written(reader)]
    return bool(shapes) and all(count == _count(buffer.shape) is not None for count in shapes)


def _count(shape: tuple[int | str, ...] | None) -> int | None:
    total = 1
    for size in shape or (None,):
        if not isinstance(size, int):
            return None
        total *= size
    return total


def find_fixed_sizes(facts: Facts) -> Iterator[Opportunity]:
    """Reductions over dynamic sizes, which read their input once for each part of a result."""
    if facts.gpu is None or facts.report.request.dynamic_shapes is None:
        return
    reductions = _reductions(facts)
    again: dict[str, Kernel] = {}
    saved = 0
    for _, _, readers in facts.buffers:  # a size that varies is not known, what is read is
        parts = [k for k in readers if k.id in reductions and _has_symbol(facts, k)]
        same = [k for k in parts if k.nodes == parts[0].nodes]
        if len(same) > 1:
            saved += sum(kernel.bytes_read or 0 for kernel in same[1:])
            again |= {kernel.id: kernel for kernel in same}
    if not saved:
        return
    time = facts.microseconds(saved, again.values())
    yield Opportunity(
        id="",
        rule="fixed-sizes",
        kind="static shape",
        text="Compile without dynamic_shapes if sizes never change: with dynamic sizes, one "
        "reduction became several kernels that read the same input.",
        sure="possible",
        source="counted: the repeated reads by kernels of one reduction"
        + facts.time_source(again.values()),
        kernels=tuple(again),
        **facts.place(n for k in again.values() for n in facts.nodes_of(k)),
        saved_bytes_low=0,
        saved_bytes_high=saved,
        saved_us_low=None if time is None else 0.0,
        saved_us_high=time,
        fewer_kernels=len(again) - 1,
        settings=(("dynamic_shapes", None),),
    )


def _reductions(facts: Facts) -> set[str]:
    nodes = {n.id for n in facts.report.scheduler_nodes if n.kind == "reduction"}
    return {k.id for k in facts.kernels if nodes.intersection(k.scheduler_nodes)}


def _has_symbol(facts: Facts, kernel: Kernel) -> bool:
    own = facts.nodes_of(kernel)
    inputs = [facts.nodes[id] for node in own for id in node.inputs if id in facts.nodes]
    return any(isinstance(size, str) for node in (*own, *inputs) for size in node.shape or ())


def _has_option(facts: Facts, name: str) -> bool:
    options = dict(facts.report.request.options)
    return options.get(name, "False") not in ("False", "None")
