"""What runs at a time on one rank: its kernels, a lane for each group, and who waits for whom.

The program is followed kernel by kernel. A kernel takes its modelled or measured time. A collective
starts when the program reaches it and what its group sent before has arrived, and runs beside the
kernels. What waits for it stops the kernels until it has arrived: that pause is exposed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import ceil
from typing import Literal, Self

from workbench.analysis.blocks.block_calls import Program, list_placed, list_programs
from workbench.analysis.collectives.links import (
    ERRORS,
    LEAST_CHECKED_BYTES,
    MOST_CHECKED_NODES,
    Links,
    estimate_collective,
    find_links,
)
from workbench.analysis.forecast.forecast import KernelForecast, find_forecast, join_errors
from workbench.report import Report
from workbench.report.collectives.collective_rows import CLUSTER, HOOK, Collective
from workbench.report.table import Table
from workbench.specs import Gpu

MISSING = (
    "kernel launches by the CPU, multiprocessors that NCCL occupies, other groups on the same "
    "links, late ranks"
)
"""What the modelled times of a rank with its collectives leave out."""
COMPUTE = "kernels"
"""The lane of what computes."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that runs, or waits, on a lane; µs on the device from the start of the program.

    `lane` is "kernels" or the group of a collective by its name.
    """

    lane: str
    kind: Literal["kernel", "collective", "wait"]
    start_us: float
    us: float
    kernel: str | None = None  # by its id
    collective: str | None = None  # by its id: what runs, or is waited for


@dataclass(frozen=True)
class Streams:
    """One call of one rank by a model, nothing was run: all that runs, in the order of starts.

    `whole_us` is until the last kernel and the last collective end, `exposed_us` what of it the
    kernels wait for collectives, `collectives_us` what these take by themselves. `kernels_error` is
    the relative error of the kernels, None where it was not measured.
    """

    spans: tuple[Span, ...]
    whole_us: float
    exposed_us: float
    collectives_us: float
    kernels_error: float | None = 0.0

    @property
    def kernels_us(self) -> float:
        """What the kernels take by themselves."""
        return sum(span.us for span in self.spans if span.kind == "kernel")


@dataclass(frozen=True)
class StreamChange:
    """A call before and after a change, by the model; µs until it ends that the second takes less.

    `least_us` and `most_us` are the ends where kernels and links are off by the errors of the
    model: alike in both for what both have, each way by itself for kernels and messages that only
    one of them has. They are None where such an error was not measured, as `why` says.
    """

    before: Streams
    after: Streams
    least_us: float | None = None
    most_us: float | None = None
    why: str = ""

    @property
    def saved_us(self) -> float:
        """What the second takes less; negative where it takes more."""
        return self.before.whole_us - self.after.whole_us

    @property
    def is_alike(self) -> bool:
        """Whether nothing that the model knows of a call has changed."""
        return self.least_us == self.most_us == 0

    @property
    def is_sure(self) -> bool:
        """Whether the model says within its error which of them is faster."""
        if self.least_us is None or self.most_us is None:
            return False
        return self.least_us > 0 or self.most_us < 0


def time_collectives(report: Report, gpu: Gpu) -> Report:
    """The record with the modelled time of each collective, and what of it nothing hides."""
    rows = list(report.collectives)
    if not rows:
        return report
    links = find_links(gpu, report.extra.get(CLUSTER, {}))
    timed = [_time(row, links) for row in rows]
    modelled = replace(report, tables={**report.tables, "collectives": Table.of(Collective, timed)})
    streams = find_streams(modelled)
    if streams is None:
        return modelled
    waits = {row.id: 0.0 for row in timed}
    for span in streams.spans:
        if span.kind == "wait" and span.collective is not None:
            waits[span.collective] += span.us
    # of a block by itself nothing says what runs beside its hooks
    placed = {row.id for row in list_placed(modelled)}
    timed = [replace(r, exposed_us=waits[r.id]) if r.id in placed else r for r in timed]
    return replace(report, tables={**report.tables, "collectives": Table.of(Collective, timed)})


def _time(row: Collective, links: Links | str) -> Collective:
    if isinstance(links, str):
        return replace(row, why=links)
    if row.bytes is None or not row.group_size or not row.group_nodes:
        return replace(row, why="its size or the ranks of its group are not known")
    estimate = estimate_collective(row.op, row.bytes, row.group_size, row.group_nodes, links)
    if estimate is None:
        return replace(row, why=f"{row.op} is not modelled")
    return replace(row, est_us=estimate.us, algorithm=estimate.words)


def find_streams(report: Report) -> Streams | None:
    """What runs at a time, made once; None where the time of a collective or a kernel is not known.

    A kernel that only has a bound counts with it, as in a forecast.
    """
    return report.once(_follow)


def _follow(report: Report) -> Streams | None:
    times, error = _time_kernels(report)
    rows = list_placed(report)
    if times is None or not rows or any(row.est_us is None or row.kernel is None for row in rows):
        return None
    return _join(list_programs(report), rows, times, error)


def _time_kernels(report: Report) -> tuple[Mapping[str, float] | None, float | None]:
    """Modelled µs by kernel, and their relative error; None where they are not known."""
    if all(kernel.is_collective for kernel in report.kernels):
        return {}, 0.0
    forecast = find_forecast(report)
    return (
        (None, None)
        if forecast is None
        else ({row.kernel: row.us for row in forecast.rows}, forecast.error)
    )


def _join(
    programs: Iterable[Program],
    rows: Sequence[Collective],
    times: Mapping[str, float],
    error: float | None,
) -> Streams:
    spans: list[Span] = []
    now = 0.0
    for program in programs:
        own_spans = list(_follow_program(program, rows, times, now))
        now = max((span.start_us + span.us for span in own_spans), default=now)
        spans += own_spans
    return Streams(
        spans=tuple(spans),
        whole_us=now,
        exposed_us=sum(span.us for span in spans if span.kind == "wait"),
        collectives_us=sum(row.est_us or 0.0 for row in rows),
        kernels_error=error,
    )


def compare_streams(before: Report, after: Report) -> StreamChange | None:
    """One program and what a change made of it; None where what runs at a time is not known of one.

    A message that is smaller than those that the model was held against is taken for anything
    between nothing and twice its time.
    """
    first, second = find_streams(before), find_streams(after)
    if first is None or second is None:
        return None
    rows = [list_placed(report) for report in (before, after)]
    nodes = max(row.group_nodes or 1 for own in rows for row in own)
    if nodes > MOST_CHECKED_NODES:
        why = f"collective times are not validated on more than {MOST_CHECKED_NODES} nodes"
        return StreamChange(first, second, why=why)
    if first.kernels_error is None or second.kernels_error is None:
        return StreamChange(first, second, why="the error of the kernel times was not measured")
    error = max(first.kernels_error, second.kernels_error)
    link = ERRORS[min(nodes, 2) - 1]
    a, b = (_Side.of(*pair) for pair in zip((before, after), rows, strict=True))
    a, b = a.part_from(b), b.part_from(a)
    least = most = first.whole_us - second.whole_us
    for of_kernels, of_links in product((-1, 0, 1), repeat=2):
        shared = of_kernels * error, of_links
        least = min(least, a.end(*shared, -1, link) - b.end(*shared, 1, link))
        most = max(most, a.end(*shared, 1, link) - b.end(*shared, -1, link))
    return StreamChange(first, second, least, most)


@dataclass(frozen=True)
class _Side:
    """A program of two: `alone` are the ids of its kernels and collectives that the other lacks.

    `alone_error` is the relative error of these kernels together.
    """

    programs: Sequence[Program]
    rows: Sequence[Collective]
    forecast: Mapping[str, KernelForecast]
    alone: frozenset[str] = frozenset()
    alone_error: float = 0.0

    @classmethod
    def of(cls, report: Report, rows: Sequence[Collective]) -> Self:
        forecast = find_forecast(report)  # None for a program of collectives alone
        by_kernel = {} if forecast is None else {row.kernel: row for row in forecast.rows}
        return cls(list_programs(report), rows, by_kernel)

    def part_from(self, other: Self) -> Self:
        """With what the other lacks: the model is off alike on what it cannot tell apart.

        In a sum, errors that are alike add up; in a difference they cancel, which is not assumed
        of two kernels that are not the same.
        """
        left = Counter(key for _, key in other._list_keys())
        alone = set[str]()
        for id, key in self._list_keys():
            if left[key] > 0:
                left[key] -= 1
            else:
                alone.add(id)
        error = join_errors((row, 1.0) for id, row in self.forecast.items() if id in alone)
        return replace(self, alone=frozenset(alone), alone_error=error or 0.0)

    def _list_keys(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        kernels = {call.kernel.id: call.kernel for part in self.programs for call in part.calls}
        for kernel in kernels.values():
            if (forecast := self.forecast.get(kernel.id)) is not None and not kernel.is_collective:
                yield kernel.id, (forecast.kind, tuple(sorted(kernel.ops)), round(forecast.us, 3))
        for row in self.rows:
            yield row.id, (row.op, row.bytes, row.group, row.est_us)

    def end(self, kernels: float, links: int, alone: int, link: float) -> float:
        """When a call of `follow` ends."""
        return self.follow(kernels, links, alone, link).whole_us

    def follow(self, kernels: float, links: int, alone: int, link: float) -> Streams:
        """A call whose kernels are off by `kernels`, and whose collectives on a side of `link`.

        What only this program has is off on the side `alone`.
        """
        own = alone * self.alone_error
        times = {
            id: row.us * (1 + (own if id in self.alone else kernels))
            for id, row in self.forecast.items()
        }
        rows = [
            replace(
                row,
                est_us=(row.est_us or 0.0)
                * (1 + (alone if row.id in self.alone else links) * _find_error(row, link)),
            )
            for row in self.rows
        ]
        return _join(self.programs, rows, times, None)


def bound_exposed(report: Report, kernels: float, link: float) -> tuple[float, float]:
    """What is exposed at least and at most, in µs, where times are off by up to these shares.

    A longer collective is never waited for less, and a longer kernel never exposes more: the ends
    are at slow kernels beside fast links and at fast kernels beside slow links.
    """
    side = _Side.of(report, list_placed(report))
    least, most = (side.follow(end * kernels, -end, 0, link).exposed_us for end in (1, -1))
    return least, most


def _find_error(row: Collective, link: float) -> float:
    return link if (row.bytes or 0) >= LEAST_CHECKED_BYTES else 1.0


def _follow_program(
    program: Program, rows: Sequence[Collective], times: Mapping[str, float], now: float
) -> Iterator[Span]:
    """The spans of a program; of `rows` those of other programs are left alone."""
    times_of = {row.id: row.est_us or 0.0 for row in rows}
    own = [row for row in rows if row.graph == program.graph and row.origin != HOOK]
    starts = {row.kernel: row for row in own}
    waits = {row.wait_kernel: row for row in own if row.wait_kernel is not None}
    lanes = _Lanes(now)
    for place, call in enumerate(program.calls):
        kernel = call.kernel
        yield from lanes.gather(program, place, times_of)
        if (row := starts.get(kernel.id)) is not None:
            yield lanes.start(row, times_of[row.id], kernel.id)
        elif (row := waits.get(kernel.id)) is not None:
            yield from lanes.wait(row, kernel.id)
        elif not kernel.is_collective:
            us = times.get(kernel.id, 0.0) / call.calls
            yield Span(COMPUTE, "kernel", lanes.now, us, kernel.id)
            lanes.now += us
        yield from lanes.scatter(program, place, times_of)


@dataclass
class _Lanes:
    """How far the kernels of a program are, and each group; µs from the start of the call."""

    now: float
    arrives: dict[str, float] = field(default_factory=dict)  # by collective
    is_free: dict[str, float] = field(default_factory=dict)  # by group

    def start(
        self, row: Collective, us: float, kernel: str, after: Collective | None = None
    ) -> Span:
        """It starts when its group is free, and what it sends on has arrived."""
        ready = self.now if after is None else self.arrives[after.id]
        start = max(ready, self.now, self.is_free.get(row.group, 0.0))
        self.is_free[row.group] = self.arrives[row.id] = start + us
        return Span(row.group, "collective", start, us, kernel, row.id)

    def wait(self, row: Collective, kernel: str) -> Iterator[Span]:
        """The kernels stop until it is there."""
        if (pause := self.arrives.get(row.id, self.now) - self.now) > 0:
            yield Span(COMPUTE, "wait", self.now, pause, kernel, row.id)
            self.now += pause

    def gather(self, program: Program, place: int, times: Mapping[str, float]) -> Iterator[Span]:
        """What hooks do before a call: what it needs has to be there, then the next is sent."""
        kernel = program.calls[place].kernel.id
        needed = program.waits.get(place, ())
        starting = program.starts.get(place, ())
        for row in starting:
            if row in needed:
                yield self.start(row, times[row.id], kernel)
        for row in needed:
            yield from self.wait(row, kernel)
        for row in starting:
            if row not in needed:
                yield self.start(row, times[row.id], kernel)

    def scatter(self, program: Program, place: int, times: Mapping[str, float]) -> Iterator[Span]:
        """What hooks do after a call, those of inner blocks first."""
        kernel = program.calls[place].kernel.id
        for held, sent in program.ends.get(place, ()):
            for row in held:
                yield from self.wait(row, kernel)
            scattered = None
            for row in sent:
                is_scatter = row.op == "reduce_scatter"
                yield self.start(row, times[row.id], kernel, None if is_scatter else scattered)
                scattered = row if is_scatter else None
        if place == len(program.calls) - 1:  # the call ends when all has arrived
            for _, sent in (pair for own in program.ends.values() for pair in own):
                for row in sent:
                    yield from self.wait(row, kernel)


def bound_hidden(report: Report, streams: Streams, rows: Sequence[Collective]) -> float:
    """µs by which a call could end earlier at most if nothing but the schedule changes.

    Work can run beside a collective only if neither needs the other's result, as the graph tells.
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
