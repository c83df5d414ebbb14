"""The kernels of one call in their order, and when hooks around its blocks send something.

Rules of `fully_shard` of torch 2.13, whose CPU is taken to be ahead of the device: a block
is gathered while the one before it runs, in the forward and in the backward; its gradients are
scattered when its backward ends, and awaited where that of the next block does; the rest at the
end of the call.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from workbench.report import Kernel, Report
from workbench.report.collectives.collective_rows import BLOCKS, HOOK, Collective, is_unplaced


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A call of a kernel, one of `calls` in the program; `block` where blocks are told apart."""

    kernel: Kernel
    calls: int = 1
    block: str | None = None


@dataclass(frozen=True)
class Program:
    """The calls of a program, and what hooks do around them by the place of a call.

    `starts` and `waits` are before a call, by its place; `ends` after it: each what is awaited, and
    then what starts. What is left is awaited when all calls are done.
    """

    graph: str
    is_backward: bool
    calls: tuple[KernelCall, ...]
    starts: Mapping[int, Sequence[Collective]] = field(default_factory=dict)
    waits: Mapping[int, Sequence[Collective]] = field(default_factory=dict)
    ends: Mapping[int, Sequence[tuple[Sequence[Collective], Sequence[Collective]]]] = field(
        default_factory=dict
    )


def list_programs(report: Report) -> list[Program]:
    """The programs of a call: forward in their order, then backward, the last one first."""
    return report.once(_list_programs)


def _list_programs(report: Report) -> list[Program]:
    by_program: dict[tuple[str, bool], list[Kernel]] = {}
    for kernel in report.kernels:
        by_program.setdefault((kernel.graph, kernel.is_backward), []).append(kernel)
    blocks: Mapping[str, str] = report.extra.get(BLOCKS, {})
    programs = [
        Program(graph, is_backward, tuple(_list_calls(report, graph, own, blocks)))
        for (graph, is_backward), own in by_program.items()
    ]
    forward = [program for program in programs if not program.is_backward]
    backward = [program for program in programs if program.is_backward][::-1]
    return _place_hooks([*forward, *backward], list_placed(report))


def list_placed(report: Report) -> list[Collective]:
    """The collectives whose place in the call is known: all but those of a block by itself."""
    return [row for row in report.collectives if not is_unplaced(row)]


def _list_calls(
    report: Report, graph: str, kernels: Sequence[Kernel], blocks: Mapping[str, str]
) -> Iterable[KernelCall]:
    """One for each kernel with all of its calls; where blocks are told apart, one for each call.

    Blocks with the same code share a kernel, which is a row of the record only once.
    """
    if not blocks:
        return [KernelCall(kernel) for kernel in kernels]
    by_node: dict[str, list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        for node in kernel.scheduler_nodes:
            by_node[node].append(kernel)
    rows = [row for row in report.scheduler_nodes if row.graph == graph]
    places = {row.id: place for place, row in enumerate(r for r in rows if r.phase == "before")}
    calls: list[tuple[int, KernelCall]] = []
    for row in rows:
        members = [f"{graph}:{name}" for name in row.members]
        if row.phase != "after":
            continue
        block = next((blocks[name] for name in members if name in blocks), None)
        own = {kernel.id: kernel for name in members for kernel in by_node.get(name, ())}
        place = min(places.get(name, len(places)) for name in members)
        calls += [(place, KernelCall(kernel, block=block)) for kernel in own.values()]
    counts = Counter(call.kernel.id for _, call in calls)
    calls = [(place, replace(call, calls=counts[call.kernel.id])) for place, call in calls]
    rest = [KernelCall(kernel) for kernel in kernels if kernel.id not in counts]
    return [*_part_blocks(calls, None, sorted({*blocks.values()}, key=count_parts)), *rest]


def _part_blocks(
    calls: Sequence[tuple[int, KernelCall]], around: str | None, names: Sequence[str]
) -> list[KernelCall]:
    """A block after the other, as they run by themselves; `names` has outer blocks first.

    Compiled at once their calls are mixed: what the backward computes again is moved to its begin,
    what frees memory late to the end. Calls have the places that they had before.
    """
    parts: list[tuple[float, list[KernelCall]]] = []
    inner: dict[str, list[tuple[int, KernelCall]]] = defaultdict(list)
    for place, call in calls:
        if call.block is None or call.block == around:
            parts.append((place, [call]))
            continue
        below = (name for name in names if around is None or name != around)
        block = call.block
        child = next(
            name
            for name in below
            if is_inside(block, name) and (around is None or is_inside(name, around))
        )
        inner[child].append((place, call))
    for child, own in inner.items():
        if all(call.block == child for _, call in own):
            own_calls = [call for _, call in own]
        else:
            own_calls = _part_blocks(own, child, names)
        parts.append((median(place for place, _ in own), own_calls))
    parts.sort(key=lambda part: part[0])
    return [call for _, part in parts for call in part]


def _place_hooks(programs: list[Program], rows: Sequence[Collective]) -> list[Program]:
    """With what hooks of blocks do around the calls; nothing where there are none."""
    hooks = [row for row in rows if row.origin == HOOK]
    if not hooks:
        return programs
    order: list[str] = []  # of the forward: what has been gathered first is needed last again
    placed = []
    for program in programs:
        own = [row for row in hooks if row.graph == program.graph]
        spans = find_spans(program.calls, {row.block or "" for row in hooks})
        if program.is_backward:
            placed.append(_place_backward(program, own, spans, order))
        else:
            order = sorted(spans, key=lambda name: (spans[name][1], -count_parts(name)))
            placed.append(_place_forward(program, own, spans))
    return placed


def find_spans(calls: Sequence[KernelCall], names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The places of the first and the last call of each block, of those inside of it too."""
    spans: dict[str, tuple[int, int]] = {}
    for place, call in enumerate(calls):
        for name in names:
            if call.block is not None and is_inside(call.block, name):
                spans[name] = spans.get(name, (place, place))[0], place
    return spans


def is_inside(block: str, around: str) -> bool:
    """Whether a block is another, or in it, by their paths."""
    return not around or block == around or block.startswith(f"{around}.")


def count_parts(path: str) -> int:
    """How deep a module is in the outermost one, by its path."""
    return len(path.split(".")) if path else 0


def _place_forward(
    program: Program, rows: Sequence[Collective], spans: Mapping[str, tuple[int, int]]
) -> Program:
    starts: dict[int, list[Collective]] = defaultdict(list)
    waits: dict[int, list[Collective]] = defaultdict(list)
    order = sorted(spans, key=lambda name: (spans[name][0], count_parts(name)))
    before: int = 0
    for name in order:
        first = spans[name][0]
        own = [row for row in rows if row.block == name]
        starts[before] += own
        waits[first] += own
        if own:
            before = first
    return replace(program, starts=starts, waits=waits)


def _place_backward(
    program: Program,
    rows: Sequence[Collective],
    spans: Mapping[str, tuple[int, int]],
    forward: Sequence[str],
) -> Program:
    starts: dict[int, list[Collective]] = defaultdict(list)
    waits: dict[int, list[Collective]] = defaultdict(list)
    ends: dict[int, list[tuple[list[Collective], list[Collective]]]] = defaultdict(list)
    ahead: int | None = None  # where the block that runs its backward before this one begins
    for name in reversed(forward):
        own = [row for row in rows if row.block == name and is_gather(row)]
        if name in spans:
            first = spans[name][0]
            starts[first if ahead is None else min(ahead, first)] += own
            waits[first] += own
            ahead = first
        elif ahead is not None:  # gathered in vain: nothing of it needs a gradient
            starts[ahead] += own
            ahead = None
    held: list[Collective] = []  # scattered, and not awaited yet
    for name in sorted(spans, key=lambda name: (spans[name][1], -count_parts(name))):
        own = [row for row in rows if row.block == name and not is_gather(row)]
        scattered = [row for row in own if row.op == "reduce_scatter"]
        ends[spans[name][1]].append((held, own))
        held = scattered
    return replace(program, starts=starts, waits=waits, ends=ends)


def is_gather(row: Collective) -> bool:
    """Whether a hook needs it before the block runs, and does not send what that has made."""
    return row.op in ("all_gather", "broadcast")


def name_kernels(report: Report) -> list[Collective]:
    """The collectives of hooks in their order, with the kernels that they start and end beside.

    What its block needs is started before a kernel and awaited before another, what it has made is
    sent after one. Those of blocks that run nothing are left out: their hooks do not run either.
    """
    rows: list[Collective] = []
    for program in list_programs(report):
        awaited = {row.id: place for place, own in program.waits.items() for row in own}
        last = len(program.calls) - 1
        placed: list[tuple[int, int, int, Collective]] = []
        for place, own in program.starts.items():
            placed += [(place, awaited.get(row.id, last), 0, row) for row in own]
        ends = sorted(program.ends.items())
        for place, pairs in ends:
            for number, (_, own) in enumerate(pairs):
                after = [at for at, later in ends for held, _ in later if own[:1] == held[:1] != []]
                placed += [(place, min(after, default=last), 1 + number, row) for row in own]
        placed.sort(key=lambda entry: (entry[0], entry[2]))
        rows += [
            replace(
                row,
                kernel=program.calls[start].kernel.id,
                wait_kernel=program.calls[end].kernel.id,
            )
            for start, end, _, row in placed
        ]
    return rows
