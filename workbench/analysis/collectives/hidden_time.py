"""How much of what kernels wait for collectives other work could hide at most.

Work can run beside a collective only if neither needs the other's result. The graph says so of
every kernel and of every other collective; a schedule that hides more does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from workbench.analysis.collectives.streams import Streams
from workbench.report import Report
from workbench.report.collectives.collective_rows import Collective


def bound_hidden(report: Report, streams: Streams, rows: Sequence[Collective]) -> float:
    """µs by which a call could end earlier at most if nothing but the schedule changes.

    `rows` are the exposed collectives. One without a node in the graph counts as independent of
    all kernels.
    """
    lanes: dict[str, float] = {}
    for span in streams.spans:
        if span.kind != "wait":
            lanes[span.lane] = lanes.get(span.lane, 0.0) + span.us
    slack_us = max(streams.whole_us - max(lanes.values(), default=0.0), 0.0)
    free = _sum_free(report, streams, rows)
    return min(slack_us, sum(_bound_row(row, free.get(row.id, slack_us)) for row in rows))


def _bound_row(row: Collective, free_us: float) -> float:
    """What can still be hidden of one: what runs beside it already is not there twice."""
    exposed_us, took_us = row.exposed_us or 0.0, row.est_us or 0.0
    return min(exposed_us, max(free_us - max(took_us - exposed_us, 0.0), 0.0))


def _sum_free(report: Report, streams: Streams, rows: Sequence[Collective]) -> Mapping[str, float]:
    """By collective, the µs of kernels and of other groups' collectives that may run beside it."""
    known = [row for row in rows if row.node is not None]
    if not known:
        return {}
    bits = {row.node: 1 << place for place, row in enumerate(known)}
    tied = _find_tied(report, bits)
    kernels = {kernel.id: kernel for kernel in report.kernels}
    others = {row.id: row for row in report.collectives}
    free = dict.fromkeys((row.id for row in known), 0.0)
    for span in streams.spans:
        other, kernel = others.get(span.collective or ""), kernels.get(span.kernel or "")
        calls = 1 if kernel is None or other is not None else max(kernel.calls, 1)
        own = (other.node or "",) if other is not None else () if kernel is None else kernel.nodes
        ties = [tied.get(node, 0) | bits.get(node, 0) for node in own]
        for place, row in enumerate(known):
            is_beside = span.kind != "wait" and span.lane != row.group
            if is_beside and _is_of_graph(row, own):
                own_ties = [each >> place & 1 for each in ties]
                free[row.id] += span.us * _find_free_share(own_ties, calls)
    return free


def _find_free_share(ties: Sequence[int], calls: int) -> float:
    """The share of a kernel's calls without a tied node.

    Calls of the same code are one kernel, whose nodes are those of all calls.
    """
    if not any(ties):
        return 1.0
    return ceil(calls * (1 - sum(ties) / len(ties))) / calls if calls > 1 else 0.0


def _is_of_graph(row: Collective, nodes: Sequence[str]) -> bool:
    """Whether nodes are of the collective's program: another one runs before or after it."""
    graph = (row.node or "").partition(":")[0]
    return all(node.partition(":")[0] == graph for node in nodes)


def _find_tied(report: Report, bits: Mapping[str | None, int]) -> Mapping[str, int]:
    """By node the bits of all nodes in `bits` that it needs, or that need it."""
    columns = report.nodes.columns
    inputs = dict(zip(columns.get("id", ()), columns.get("inputs", ()), strict=True))
    needs: dict[str, int] = {}
    needed: dict[str, int] = {}
    for node, own in inputs.items():  # in the order of the program
        needs[node] = _join_bits(needs.get(each, 0) | bits.get(each, 0) for each in own)
    for node in reversed(inputs):
        passed = needed.get(node, 0) | bits.get(node, 0)
        for each in inputs[node]:
            needed[each] = needed.get(each, 0) | passed
    return {node: needs[node] | needed.get(node, 0) for node in inputs}


def _join_bits(each: Iterable[int]) -> int:
    joined = 0
    for bits in each:
        joined |= bits
    return joined
