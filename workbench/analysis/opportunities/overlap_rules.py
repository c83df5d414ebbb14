"""What kernels wait for other GPUs, and torch's own passes that may hide it or send it at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.analysis.cluster.links import ERRORS, MOST_CHECKED_NODES
from workbench.analysis.cluster.streams import Streams, find_streams
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts
from workbench.number_text import number_text, plural
from workbench.report.cluster.cluster_rows import HOOK, Collective

_PASSES = "aten_distributed_optimizations."
_OVERLAP = f"{_PASSES}enable_overlap_scheduling"
_MERGE = f"{_PASSES}collective_bucketing"
_MERGE_FIRST = f"{_PASSES}pre_bucketing_fsdp_collectives"
_SINCE, _MERGED_FIRST_SINCE = (2, 12), (2, 13)
"""The releases of torch whose passes work for a GPU that is not here, and that merge first."""
_LEAST = 0.05  # of the call


def find_exposed_collectives(facts: Facts) -> Iterator[Opportunity]:
    """Collectives that the kernels wait for, where torch's scheduling of overlap is not on."""
    found = _find_exposed(facts)
    if found is None:
        return
    streams, rows = found
    release = _read_release(facts)
    settings = ((_OVERLAP, True), (_MERGE_FIRST, False))[: 1 + (release >= _MERGED_FIRST_SINCE)]
    waits = number_text(streams.exposed_us / 1e6, "seconds")
    yield Opportunity(
        id="",
        rule="exposed-collectives",
        kind="option",
        text=f"Let torch order kernels and collectives: the kernels wait {waits} for "
        f"{plural(len(rows), 'collective')}. Its overlap scheduling starts them earlier and awaits "
        "them later, where what they need and the memory allow it.",
        sure="possible",
        source=_tell_source(rows),
        kernels=tuple(row.kernel for row in rows if row.kernel),
        **_place(facts, rows),
        saved_us_low=0.0,
        saved_us_high=streams.exposed_us,
        settings=settings,
    )


def find_mergeable_collectives(facts: Facts) -> Iterator[Opportunity]:
    """Several collectives of one kind and group that are waited for, where torch merges none."""
    found = _find_exposed(facts)
    if found is None:
        return
    streams, rows = found
    kinds: dict[tuple[object, ...], list[Collective]] = defaultdict(list)
    for row in rows:
        kinds[row.op, row.group, row.dtype, row.graph].append(row)
    alike = max((_list_independent(facts, each) for each in kinds.values()), key=len)
    op, count = alike[0].op, len(alike)
    if count < 2 or op not in ("all_gather", "reduce_scatter", "all_reduce"):
        return
    waits = number_text(streams.exposed_us / 1e6, "seconds")
    yield Opportunity(
        id="",
        rule="mergeable-collectives",
        kind="option",
        text=f"Let torch merge collectives, then order them: the kernels wait {waits}, for {count} "
        f"× {op} of one group among others. A bucket pays the latency of one, costs the copies "
        "into it and out of it, and starts when the last of it is there.",
        sure="possible",
        source=_tell_source(rows),
        kernels=tuple(row.kernel for row in rows if row.kernel),
        **_place(facts, rows),
        saved_us_low=0.0,
        saved_us_high=streams.exposed_us,
        settings=((_OVERLAP, True), (_MERGE, True)),
    )


def _find_exposed(facts: Facts) -> tuple[Streams, Sequence[Collective]] | None:
    """What runs at a time, and what is waited for; None where that is little, or a pass is on."""
    streams = find_streams(facts.report)
    given = dict(facts.report.request.options)
    is_on = given.get(_OVERLAP, "False") not in ("False", "None")
    if streams is None or is_on or _read_release(facts) < _SINCE:
        return None
    if streams.exposed_us < _LEAST * streams.whole_us:
        return None
    rows = [row for row in facts.report.collectives if row.origin != HOOK and row.exposed_us]
    return (streams, rows) if rows else None


def _list_independent(facts: Facts, rows: Sequence[Collective]) -> list[Collective]:
    """The first, and those that need nothing of what it brings."""
    columns = facts.report.nodes.columns
    inputs = dict(zip(columns["id"], columns["inputs"], strict=True))
    first, *others = rows

    def list_needed(node: str | None) -> set[str]:
        seen, left = set[str](), [node or ""]
        while left:
            fresh = {*inputs.get(left.pop(), ())} - seen
            seen |= fresh
            left += fresh
        return seen

    return [first, *(row for row in others if first.node not in list_needed(row.node))]


def _read_release(facts: Facts) -> tuple[int, ...]:
    parts = facts.report.environment.torch.split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())


def _place(facts: Facts, rows: Sequence[Collective]) -> dict[str, Any]:
    """The line of what is waited for longest."""
    longest = max(rows, key=lambda row: row.exposed_us or 0.0)
    kernels = {kernel.id: kernel for kernel in facts.kernels}
    kernel = kernels.get(longest.kernel or "")
    return {} if kernel is None else facts.place(facts.nodes_of(kernel))


def _tell_source(rows: Sequence[Collective]) -> str:
    """Where the time is from, and how far it was off."""
    nodes = max(row.group_nodes or 1 for row in rows)
    error = f"± {number_text(ERRORS[min(nodes, 2) - 1], 'percent')}"
    if nodes > MOST_CHECKED_NODES:
        error = f"held against no measurement of more than {MOST_CHECKED_NODES} nodes"
    return f"modelled: all that the kernels wait, by NCCL's model ({error}); what of it, a trial"
