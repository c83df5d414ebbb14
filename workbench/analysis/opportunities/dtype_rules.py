"""Dtypes that are wider than necessary: float64 that creeps in, float32 on a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.analysis.fusion.traffic import NodeFacts
from workbench.analysis.gpu_model.launches import LaunchCosts
from workbench.analysis.gpu_model.roofline import PRODUCTS, compute_roofline
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts, base
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.report import Kernel
from workbench.report.machine_rows import KernelRoofline
from workbench.specs import Catalogue, Gpu

_WIDER = {
    "torch.float64": "torch.float32",
    "torch.double": "torch.float32",
    ".double()": ".float()",
}
_WIDE = re.compile("|".join(re.escape(word) for word in _WIDER))
_ADDING = frozenset(("sum", "mean", "cumsum", "output"))
_MULTIPLYING = ("mm", "addmm", "bmm", "baddbmm", "convolution", "scaled_dot_product")


def find_float64(facts: Facts) -> Iterator[Opportunity]:
    """Results in float64 although no input is."""
    wide = [(b, w, r) for b, w, r in facts.buffers if b.dtype == "float64"]
    if not wide or any(b.kind in ("input", "constant") for b, _, _ in wide):
        return
    moved = sum((b.bytes or 0) * (len(w) + len(r)) for b, w, r in wide)
    kernels = {k.id: k for _, w, r in wide for k in (*w, *r)}
    sources = [node for node in facts.nodes.values() if _widens(facts, node)]
    places = {(node.file, node.line): node for node in sources if node.line is not None}
    operators = {base(node.target) for node in facts.nodes.values() if node.dtype == "float64"}
    if not moved or not places or operators <= _ADDING:  # wide sums of float32 are meant
        return
    first = next(iter(places.values()))
    line = facts.line_at(first.file or "", first.line or 0)
    words = _WIDE.findall("" if line is None else line[1])
    again = _widened_again(facts, first)  # the change of one line alone would do nothing
    can_write = line is not None and len(places) == 1 and len(words) == 1 and not again
    text = line[1] if line is not None and can_write else ""
    saved = moved // 2
    low, high, source = _time_of_single(facts, list(kernels.values()), saved)
    lines = f"lines {', '.join(map(str, [first.line, *again]))}" if again else "this line"
    yield Opportunity(
        id="",
        rule="float64-creeps-in",
        kind="rewrite" if can_write else "dtype",
        text=f"Use float32 in {lines}. No input is float64, but these values are, and they turn "
        "everything computed from them into float64. With the change, results are float32. "
        f"It may save up to half the time of {plural(len(kernels), 'kernel')} on a CPU, more on a "
        "GPU.",
        sure="likely",
        source=f"counted: half of the traffic of float64 buffers{source}",
        kernels=tuple(kernels),
        **facts.place([first]),
        saved_bytes_low=saved,
        saved_bytes_high=saved,
        saved_us_low=low,
        saved_us_high=high,
        before=(text,) if can_write else (),
        after=(_WIDE.sub(lambda word: _WIDER[word[0]], text),) if can_write else (),
        changes_numbers=True,
    )


def _widened_again(facts: Facts, first: NodeFacts) -> list[int]:
    """Other lines that ask for float64 themselves, of what is computed with it."""
    wide = (node for node in facts.nodes.values() if node.dtype == "float64" and node.line)
    places = sorted({(node.file or "", node.line or 0) for node in wide})
    numbers = []
    for file, number in places:
        line = facts.line_at(file, number)
        is_other = (file, number) != (first.file, first.line)
        if is_other and line is not None and _WIDE.search(line[1]):
            numbers.append(number)
    return numbers


def _time_of_single(
    facts: Facts, kernels: list[Kernel], saved: int
) -> tuple[float | None, float | None, str]:
    """Microseconds that float32 saves in these kernels, and where they are from.

    The bytes alone at the low end; at the high end their arithmetic as well: half of what was
    measured, or the bounds by the GPU's rates.
    """
    low, high = facts.least_microseconds(saved, kernels), facts.microseconds(saved, kernels)
    source = facts.time_source(kernels)
    gpu = _gpu(facts)
    if facts.is_measured(kernels):
        half = sum(kernel.time_us or 0.0 for kernel in kernels) / 2
        upper = f"{source}; the high end is half the measured time of these kernels"
        return low, max(high or 0.0, half), upper
    if gpu is None or high is None:
        return low, high, source
    by_id = {kernel.id: kernel for kernel in kernels}
    gain = 0.0
    for row in facts.report.own_roofline:
        kernel = by_id.get(row.kernel)
        if kernel is None or row.bound_us is None or row.moved_bytes is None:
            continue
        is_product = _multiplies(kernel)
        there = compute_roofline(
            gpu,
            moved_bytes=row.moved_bytes // 2,
            flops=row.flops or 0,
            dtype="fp32",
            matrix=is_product,
        )
        gain += max(0.0, row.bound_us - there.time_us) * max(kernel.calls, 1)
    more = f"; the high end is the roofline time in float64 minus that in float32 on {gpu.title}"
    return low, max(high, gain), f"{source}{more if gain > high else ''}"


def _widens(facts: Facts, node: NodeFacts) -> bool:
    """Whether a node is the first that is float64: it makes it, of nothing that is."""
    inputs = [facts.nodes[id] for id in node.inputs if id in facts.nodes]
    is_wide = node.dtype == "float64" and node.op == "call_function"
    return is_wide and all(value.dtype != "float64" for value in inputs)


def find_half_precision(facts: Facts) -> Iterator[Opportunity]:
    """Float32 on a GPU, where bfloat16 halves the memory and matmuls run on faster units."""
    gpu = _gpu(facts)
    rows = {row.kernel: row for row in facts.report.own_roofline}
    concerned = [k for k in facts.kernels if not k.is_backward]
    if gpu is None or facts.report.request.autocast or len(concerned) < len(facts.kernels):
        return
    if not any(_multiplies(kernel) for kernel in concerned):
        return
    single = [(b, len(w) + len(r)) for b, w, r in facts.buffers if b.dtype == "float32"]
    every = sum((b.bytes or 0) * (1 + len(r)) for b, _, r in facts.buffers)
    whole = sum((b.bytes or 0) * uses for b, uses in single)
    if not whole or whole < every // 2:
        return
    own = sum((b.bytes or 0) * uses for b, uses in single if b.kind != "input")
    after = [_half_us(rows[k.id], gpu, k) for k in concerned if k.id in rows]
    bounds = [rows[k.id].bound_us for k in concerned if k.id in rows]
    if any(time is None for time in (*after, *bounds)):
        return
    calls = [max(k.calls, 1) for k in concerned if k.id in rows]
    gain = sum(n * ((b or 0) - (a or 0)) for n, b, a in zip(calls, bounds, after, strict=True))
    if gain < LaunchCosts().shortest_us:
        return  # no kernel is that short
    by_bytes = facts.microseconds(own / 2, concerned)
    yield Opportunity(
        id="",
        rule="half-precision",
        kind="dtype",
        text="Compute in bfloat16: tensors take half the memory of float32, and matmuls run on the "
        "GPU's faster units. Results keep 8 bits of precision.",
        sure="possible",
        source="counted: half of the traffic of float32 buffers; the low end excludes the "
        "inputs. Time: at the low end, moving these bytes; at the high end, the roofline time in "
        f"float32 minus that in bfloat16 on {gpu.title}",
        kernels=tuple(k.id for k in concerned),
        saved_bytes_low=own // 2,
        saved_bytes_high=whole // 2,
        saved_us_low=min(by_bytes or 0.0, gain),
        saved_us_high=gain,
        settings=(("dtype", "bfloat16"),),
        changes_numbers=True,
    )


def _half_us(row: KernelRoofline, gpu: Gpu, kernel: Kernel) -> float | None:
    """The bound of one call of a kernel with half the bytes, its matmuls in bfloat16."""
    if row.moved_bytes is None:
        return None
    product = _multiplies(kernel)
    bound = compute_roofline(
        gpu,
        moved_bytes=row.moved_bytes // 2,
        flops=row.flops or 0,
        dtype="bf16" if product else "fp32",
        matrix=product,
    )
    return bound.time_us


def _multiplies(kernel: Kernel) -> bool:
    return any(word in base(op) for op in kernel.ops for word in _MULTIPLYING)


def find_tf32(facts: Facts) -> Iterator[Opportunity]:
    """Compute-bound matmuls in full float32, where the GPU has TF32."""
    gpu = _gpu(facts)
    if gpu is None or PRODUCTS in facts.report.request.tf32:
        return
    by_id = {kernel.id: kernel for kernel in facts.kernels}
    gain, kernels = 0.0, []
    for row in facts.report.own_roofline:
        kernel = by_id.get(row.kernel)
        is_full = row.rate is not None and row.rate.endswith("fp32") and row.bound == "compute"
        if kernel is None or not is_full or not _multiplies(kernel) or not row.bound_us:
            continue
        if any("convolution" in op for op in kernel.ops):
            continue  # cuDNN takes TF32 for these without being asked
        there = compute_roofline(
            gpu, moved_bytes=row.moved_bytes or 0, flops=row.flops or 0, dtype="tf32", matrix=True
        )
        if there.rate is not None and "tf32" in there.rate:
            gain += (row.bound_us - there.time_us) * max(kernel.calls, 1)
            kernels.append(kernel)
    if gain < LaunchCosts().shortest_us:
        return
    yield Opportunity(
        id="",
        rule="tf32",
        kind="option",
        text="Allow TF32 for matmuls: in full float32 they are compute-bound, and this GPU is much "
        "faster in TF32. TF32 keeps 10 mantissa bits of each operand.",
        sure="possible",
        source="modelled: at most the roofline time of these matmuls in float32 minus that in TF32 "
        f"on {gpu.title}",
        kernels=tuple(k.id for k in kernels),
        **facts.place(n for k in kernels for n in facts.nodes_of(k)),
        saved_bytes_low=0,
        saved_bytes_high=0,
        saved_us_low=0.0,
        saved_us_high=gain,
        settings=(("float32_matmul_precision", "high"),),
        changes_numbers=True,
    )


def _gpu(facts: Facts) -> Gpu | None:
    """The GPU that the roofline is of, where its rates are known."""
    if facts.gpu is None:
        return None
    try:
        return Catalogue.built_in()[facts.gpu]
    except UsageError:  # one that the user described, or that is only in this machine
        return None
