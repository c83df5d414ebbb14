"""Memory that library calls take and give back while they run, with a bound where known."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from workbench.analysis.fusion.traffic import NodeFacts, nodes_with
from workbench.analysis.memory.timeline import Timeline, is_on_cpu
from workbench.number_text import number_text

_WITHOUT = frozenset(
    ("mm", "addmm", "bmm", "baddbmm", "dot", "mv", "addmv", "_int_mm", "topk", "copy_", "fill_")
)
"""What takes none of torch's allocator on a CPU: MKL has its own, which the profiler cannot see."""
_ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"
_BACKWARD = f"{_ATTENTION}_backward"
_NAMES = {_ATTENTION: "attention", _BACKWARD: "the backward of attention"}
IN_CPP = "aoti_torch_"  # a library call in C++; in Python it has a dot: extern_kernels.mm
_FLOAT = 4
_ROWS = ((768, 256), (192, 64), (0, 32))  # from so many positions on, so many are one piece
_COLUMNS = 512


@dataclass(frozen=True, slots=True)
class Scratch:
    """What a library call takes at most while it runs, in a step; None: it cannot be told."""

    step: int
    operator: str
    bytes: int | None


def scratch_of(timeline: Timeline) -> tuple[Scratch, ...]:
    """The library calls that take memory of their own, in their order.

    On a GPU the libraries choose their workspaces when they run, so that none is known.
    """
    on_cpu = is_on_cpu(timeline.report)
    threads = timeline.report.environment.threads
    by_kernel = {row.id: row.nodes for row in timeline.report.kernels}
    nodes = _nodes(
        timeline, {id for kernel in timeline.kernels for id in by_kernel.get(kernel or "", ())}
    )
    found = []
    for number, (step, kernel) in enumerate(
        zip(timeline.walk.steps, timeline.kernels, strict=True)
    ):
        if "." not in step.kernel and not step.kernel.startswith(IN_CPP):
            continue
        operator = _operator(step.kernel)
        if on_cpu and operator in _WITHOUT:
            continue
        own = [nodes[id] for id in by_kernel.get(kernel or "", ()) if id in nodes]
        bound = None
        if on_cpu and threads and operator in _NAMES:
            call = next((node for node in own if operator in node.target), None)
            bound = None if call is None else _of_attention(operator, call, nodes, threads)
        found.append(Scratch(number, _NAMES.get(operator, operator), bound))
    return tuple(found)


def _nodes(timeline: Timeline, wanted: set[str]) -> dict[str, NodeFacts]:
    own = nodes_with(timeline.report, "id", wanted)
    inputs = {id for node in own.values() for id in node.inputs}
    return own | nodes_with(timeline.report, "id", inputs - own.keys())


def _operator(kernel: str) -> str:
    """`mm` of `extern_kernels.mm`, `torch.ops.aten.mm.default` and `aoti_torch_cpu_mm_out`."""
    if kernel.startswith(IN_CPP):
        name = kernel.removeprefix(IN_CPP).partition("_")[2]
        return name.removesuffix("_out")
    parts = kernel.split(".")
    if "ops" in parts and len(parts) > parts.index("ops") + 2:
        return parts[parts.index("ops") + 2]
    return parts[-1]


def _of_attention(
    operator: str, call: NodeFacts, nodes: dict[str, NodeFacts], threads: int
) -> int | None:
    """As FlashAttentionKernel.cpp of torch allocates it: pieces of scores for each thread."""
    places = (1, 2) if operator == _BACKWARD else (0, 1)
    given = [nodes.get(call.inputs[place]) for place in places if place < len(call.inputs)]
    shapes = [node.shape for node in given if node is not None and node.dtype == "float32"]
    if len(shapes) < 2 or not all(_is_known(shape) for shape in shapes):
        return None
    query, keys = (tuple(int(size) for size in shape or ()) for shape in shapes)
    length, width = query[-2], query[-1]
    rows = min(length, next(count for least, count in _ROWS if length >= least))
    columns = min(keys[-2], _COLUMNS)
    if operator == _BACKWARD:  # scores and their gradients, and a copy of what comes in
        return _FLOAT * (2 * threads * rows * columns + threads * rows + prod(query))
    return _FLOAT * threads * (rows * columns + 2 * rows + rows * width)


def _is_known(shape: tuple[int | str, ...] | None) -> bool:
    return shape is not None and len(shape) == 4 and all(isinstance(n, int) for n in shape)


def scratch_words(found: tuple[Scratch, ...], *, on_cpu: bool) -> str:
    """What the calls take, in a sentence; empty where they take none."""
    known: dict[str, int] = {}
    for row in found:
        if row.bytes is not None:
            known[row.operator] = max(known.get(row.operator, 0), row.bytes)
    open_ = dict.fromkeys(row.operator for row in found if row.bytes is None)
    parts = [
        f"{name} on this CPU takes up to {number_text(most, 'bytes')} more while it runs"
        for name, most in known.items()
    ]
    if open_:
        where = "" if on_cpu else " on the GPU"
        names = ", ".join(open_)
        verb = "takes" if len(open_) == 1 else "take"
        parts.append(f"what {names} {verb}{where} while running is not known")
    return "; ".join(parts)
