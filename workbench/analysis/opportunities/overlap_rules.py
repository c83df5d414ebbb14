"""Exposed communication, and torch's own passes that may overlap or bucket it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.collectives.links import (
    ERRORS,
    MOST_CHECKED_NODES,
    Links,
    estimate_collective,
    find_links,
)
from workbench.analysis.collectives.streams import bound_hidden, find_streams
from workbench.analysis.opportunities.opportunity import Kind, Opportunity
from workbench.analysis.opportunities.rule_facts import Facts
from workbench.number_text import number_text, plural
from workbench.report.collectives.collective_rows import CLUSTER, HOOK, Collective
from workbench.settings import Settings
from workbench.specs import Catalogue

_PASSES = "aten_distributed_optimizations."
_OVERLAP = f"{_PASSES}enable_overlap_scheduling"
_MERGE = f"{_PASSES}collective_bucketing"
_MERGE_FIRST = f"{_PASSES}pre_bucketing_fsdp_collectives"
_RAN = "overlap_scheduling"
"""What torch calls the pass when it runs."""
_SINCE, _MERGED_FIRST_SINCE = (2, 12), (2, 13)
"""The releases of torch whose passes work for a GPU that is not here, and that merge first."""
_LEAST = 0.05  # of the call


@dataclass(frozen=True)
class _Exposed:
    """Collectives that kernels wait for; `us` in all, of which independent work may hide some."""

    us: float
    hideable_us: float
    whole_us: float
    rows: Sequence[Collective]

    def is_worth(self, saved_us: float) -> bool:
        """Whether a saving is so large that it is offered."""
        return saved_us >= _LEAST * self.whole_us


def find_exposed_collectives(facts: Facts) -> Iterator[Opportunity]:
    """Exposed collectives, where torch's overlap scheduling is off."""
    exposed = _find_exposed(facts)
    if exposed is None:
        return
    if not exposed.is_worth(exposed.hideable_us):
        facts.leave_out(
            f"{_tell_us(exposed.us)} of collectives are exposed; independent work can hide only "
            f"{_tell_us(exposed.hideable_us)} of it"
        )
        return
    settings = ((_OVERLAP, True), (_MERGE_FIRST, False))
    is_merged_first = facts.report.environment.torch_release >= _MERGED_FIRST_SINCE
    yield _advise(
        facts,
        exposed,
        rule="exposed-collectives",
        kind="option",
        text="Enable torch's overlap scheduling: the kernels wait "
        f"{_tell_us(exposed.us)} for {plural(len(exposed.rows), 'collective')}. Independent work "
        f"can hide at most {_tell_us(exposed.hideable_us)} of it.",
        saved_us=exposed.hideable_us,
        source="at most the time of the independent work",
        settings=settings[: 1 + is_merged_first],
    )


def find_mergeable_collectives(facts: Facts) -> Iterator[Opportunity]:
    """Several exposed collectives of one kind and group, where torch buckets none."""
    exposed = _find_exposed(facts)
    if exposed is None:
        return
    kinds: dict[tuple[object, ...], list[Collective]] = defaultdict(list)
    for row in exposed.rows:
        kinds[row.op, row.group, row.dtype, row.graph].append(row)
    alike = max((_list_independent(facts, group) for group in kinds.values()), key=len)
    op, count = alike[0].op, len(alike)
    if count < 2 or op not in ("all_gather", "reduce_scatter", "all_reduce"):
        return
    merged_us = _find_merged(facts, alike)
    saved_us = min(exposed.us, exposed.hideable_us + merged_us)
    if not exposed.is_worth(saved_us):
        return
    yield _advise(
        facts,
        exposed,
        rule="mergeable-collectives",
        kind="option",
        text="Enable torch's bucketing and overlap scheduling: the kernels wait "
        f"{_tell_us(exposed.us)}, partly for {count} × {op} in one group. A bucket has the "
        "latency of one collective, but it adds copies and starts only when its last input is "
        "ready.",
        saved_us=saved_us,
        source="at most the time of the independent work, plus the latency of all collectives but "
        "one",
        settings=((_OVERLAP, True), (_MERGE, True)),
    )


def _tell_us(us: float) -> str:
    return number_text(us / 1e6, "seconds")


def _advise(
    facts: Facts,
    exposed: _Exposed,
    *,
    rule: str,
    kind: Kind,
    text: str,
    saved_us: float,
    source: str,
    settings: tuple[tuple[str, bool], ...],
) -> Opportunity:
    """A torch option that may save up to `saved_us` of the exposed time."""
    rows = exposed.rows
    return Opportunity(
        id="",
        rule=rule,
        kind=kind,
        text=text,
        sure="possible",
        source=_tell_source(source, rows),
        kernels=tuple(row.kernel for row in rows if row.kernel),
        **_place(facts, rows),
        saved_us_low=0.0,
        saved_us_high=saved_us,
        settings=settings,
    )


def _find_exposed(facts: Facts) -> _Exposed | None:
    """The exposed time and its collectives; None if it is short, or a pass is on."""
    streams = find_streams(facts.report)
    options = dict(facts.report.request.options)
    # torch's own configuration turns it on, too: then no option has it
    is_on = options.get(_OVERLAP) == "True" or any(p.name == _RAN for p in facts.report.passes)
    if streams is None or is_on or facts.report.environment.torch_release < _SINCE:
        return None
    # no pass of torch sees what hooks start
    rows = [row for row in facts.report.collectives if row.origin != HOOK and row.exposed_us]
    exposed_us = sum(row.exposed_us or 0.0 for row in rows)
    if not rows or exposed_us < _LEAST * streams.whole_us:
        return None
    hideable_us = min(exposed_us, bound_hidden(facts.report, streams, rows))
    return _Exposed(exposed_us, hideable_us, streams.whole_us, rows)


def _find_merged(facts: Facts, rows: Sequence[Collective]) -> float:
    """µs that one collective of all bytes takes less than these, by NCCL's model."""
    gpus = Catalogue.of_user(Settings.from_environment().data_folder)
    first, names = rows[0], (facts.report.request.target, facts.gpu or "")
    gpu = next((gpus[name] for name in names if name in gpus), None)
    links = None if gpu is None else find_links(gpu, facts.report.extra.get(CLUSTER, {}))
    apart_us = sum(row.est_us or 0.0 for row in rows)
    if isinstance(links, Links) and first.group_size and first.group_nodes:
        sent = sum(row.bytes or 0 for row in rows)
        merged = estimate_collective(first.op, sent, first.group_size, first.group_nodes, links)
        if merged is not None:
            return max(apart_us - merged.us, 0.0)
    return apart_us - max(row.est_us or 0.0 for row in rows)


def _list_independent(facts: Facts, rows: Sequence[Collective]) -> list[Collective]:
    """The first, and those that do not depend on its result."""
    columns = facts.report.nodes.columns
    inputs = dict(zip(columns["id"], columns["inputs"], strict=True))
    first, *others = rows

    def list_needed(node: str | None) -> set[str]:
        visited, left = set[str](), [node or ""]
        while left:
            fresh = {*inputs.get(left.pop(), ())} - visited
            visited |= fresh
            left += fresh
        return visited

    return [first, *(row for row in others if first.node not in list_needed(row.node))]


def _place(facts: Facts, rows: Sequence[Collective]) -> dict[str, Any]:
    """The line of the collective with the longest exposed time."""
    longest = max(rows, key=lambda row: row.exposed_us or 0.0)
    kernels = {kernel.id: kernel for kernel in facts.kernels}
    kernel = kernels.get(longest.kernel or "")
    return {} if kernel is None else facts.place(facts.nodes_of(kernel))


def _tell_source(bound: str, rows: Sequence[Collective]) -> str:
    """What bounds the saving, the source of the time, and its error."""
    nodes = max(row.group_nodes or 1 for row in rows)
    error = f"± {number_text(ERRORS[min(nodes, 2) - 1], 'percent')}"
    if nodes > MOST_CHECKED_NODES:
        error = f"not validated on more than {MOST_CHECKED_NODES} nodes"
    return f"modelled: {bound}. Collectives: NCCL's model ({error})"
