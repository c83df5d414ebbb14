"""What the processes of one run compiled, compared by their logs: a record that answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.analysis.collectives.collective_order import ALL_RANKS, compare_started
from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.number_text import join_words, number_text, plural
from workbench.report.collectives.collective_rows import Collective, CollectiveOrder
from workbench.report.measures import number
from workbench.report.presenter import Presented, presenter
from workbench.report.program.record_rows import Compile

if TYPE_CHECKING:
    import pandas

DEFAULT_GROUP = "0"
"""What torch calls the group of `init_process_group`; those of the same name have the same ranks.

torch names a group of a mesh by its ranks, and counts `new_group`, which every rank has to call.
"""
_NO_END = (
    "Torch does not mark the end of a log: if a log was cut off, the later compiles of that "
    "process are unknown."
)
_MOST_TOLD = 4
_LONGER = 2.0  # times as long as the other ranks, and by a second: the others wait in a collective


@dataclass(frozen=True, slots=True)
class RankCompile:
    """One compile of the processes of a run, by what their logs say.

    `ranks` compiled it, `without` did not, and of `unknown` it is not known: their logs are not
    whole. Ranks have the same one of
    `programs` where what torch wrote for them is the same but for comments, the numbers of devices
    and the names of groups: the generated program, and where a log has none the captured graph.
    Ranks whose logs have neither, or may have lost some of it, are in none of them, and are not
    compared. Seconds are as torch counts them.
    """

    compile_id: str  # torch's id on the first of `ranks`, as `0/1`: frame 0, second variant
    function: str  # the function that was compiled
    ranks: tuple[int, ...]  # that compiled it
    without: tuple[int, ...]  # that did not
    ids: tuple[str, ...]  # its id on each of `ranks`, whose processes count by themselves
    programs: tuple[tuple[int, ...], ...]  # the ranks that have the same program, together
    cache: str  # what torch's caches answered, and whom where that differs
    shortest_s: float = number(
        "Shortest",
        "s",
        "Compile time of the fastest rank",
        source="measured",
        meaning="Compile time of the fastest rank, in seconds.",
    )
    longest_s: float = number(
        "Longest",
        "s",
        "Compile time of the slowest rank",
        source="measured",
        meaning="Compile time of the slowest rank, in seconds.",
    )
    collectives: int | None = number(
        "Collectives", meaning="Collectives in the generated code; None if no log has the code."
    )
    unknown: tuple[int, ...] = ()  # whose logs do not have it, and are not whole


@dataclass(frozen=True)
class LoggedProgram:
    """What one log says of one compile: `compiles` are its forward and backward.

    `code` is what torch wrote, without comments: the captured graph, and the generated programs, by
    forward and backward, or where there are none the graphs of AOTAutograd. `starts` are the
    collectives of the programs, `in_graphs` those of each graph. What of it is not whole is no sign
    of a difference: its log may have lost what others have.
    """

    rank: int
    compile_id: str
    compiles: tuple[Compile, ...]
    code: Mapping[str, str]
    starts: tuple[Collective, ...]
    began: str = ""  # the function and its place, as the log has them where the compile begins
    is_whole: bool = True  # whether it ends in its log, of which no record is lost
    in_graphs: Mapping[str, Sequence[Collective]] = field(default_factory=dict)

    @property
    def frame(self) -> str:
        """The part of the id that counts the functions of its process."""
        return self.compile_id.rpartition("/")[0]

    @property
    def variant(self) -> str:
        """The part of the id that counts the compiles of the function."""
        return self.compile_id.rpartition("/")[2]

    @property
    def function(self) -> str:
        """Which function it is of, by its name and place; "" where the log does not tell."""
        row = next((row for row in self.compiles if row.function), None)
        if self.began:
            return self.began
        return f"{row.function} {row.file.rpartition('/')[2]}:{row.line}" if row else ""

    @property
    def has_program(self) -> bool:
        """Whether the log has a generated program of it."""
        return any(part in ("forward", "backward") for part in self.code)


@dataclass(frozen=True, repr=False)
class LoggedRanks(Presented):
    """Differences between the ranks of one run in what they compiled, from their logs.

    Ranks without a log are unknown, and so are calls outside graphs, such as DDP's collectives.
    `order` compares the collectives of compiles with the same id, for each group, the first rank
    with every other. `lacks` has by rank the reasons why a log is incomplete: what such a log does
    not have is not known, and not a difference. `unsure_starts` differ by collectives that one of
    their logs may have lost; every log of the compiles in `partly` may lack something.
    """

    name: str
    ranks: tuple[int, ...]
    compiles: tuple[RankCompile, ...]
    order: tuple[CollectiveOrder, ...]
    unsure_groups: tuple[str, ...] = ()  # in which some rank starts nothing, as it may have to
    lacks: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    unsure_starts: tuple[tuple[str, int, int], ...] = ()  # a compile and two ranks
    partly: tuple[str, ...] = ()  # their ids

    @property
    def hangs(self) -> tuple[str, ...]:
        """A sentence for each pair of ranks that would deadlock."""
        return tuple(row.note for row in self.order if row.note)

    @property
    def is_same(self) -> bool | None:
        """Whether all ranks compiled the same, as far as the logs have its code.

        None if nothing differs but a log is incomplete. A log that was cut off between two
        compiles looks complete: torch does not mark its end.
        """
        if any(row.without or len(row.programs) > 1 for row in self.compiles):
            return False
        return None if self.lacks else True

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings in sentences: deadlocks, differences, ranks that waited."""
        return tuple(_tell(self))

    @checked
    def frame(self, name: str = "compiles") -> pandas.DataFrame:
        """Return the table "compiles" or "order"; raises `UsageError` for another name."""
        if name not in ("compiles", "order"):
            raise UsageError(f"Unknown table {name!r}: pass 'compiles' or 'order'.")
        if name == "order":
            return presenter().rows_frame(self.order, CollectiveOrder)
        return presenter().rows_frame(self.compiles, RankCompile)


def compare_logs(
    name: str,
    ranks: Iterable[int],
    programs: Iterable[LoggedProgram],
    lacks: Mapping[int, tuple[str, ...]] | None = None,
) -> LoggedRanks:
    """What logs say, compared: compiles of one function, by their numbers among its variants.

    `lacks` are the ranks whose logs are not whole, each with the reasons.
    """
    lacks = lacks or {}
    all_ranks = tuple(sorted(ranks))
    ordered = sorted(programs, key=lambda program: (_place(program.compile_id), program.rank))
    compiles: list[RankCompile] = []
    order: list[CollectiveOrder] = []
    unsure_starts: list[tuple[str, int, int]] = []
    partly: list[str] = []
    for group in _match(ordered):
        compiles.append(_join(group, all_ranks, lacks))
        if not _is_known_whole(group, lacks):
            partly.append(compiles[-1].compile_id)
        for row in _compare_starts(compiles[-1], _list_starting(group)):
            if row.note and not _is_sure(row, group, lacks):
                unsure_starts.append((_name(compiles[-1]), row.other, row.rank))
            else:
                order.append(row)
    unsure = tuple(_list_unsure(ordered, len(all_ranks)))
    return LoggedRanks(
        name,
        all_ranks,
        tuple(compiles),
        tuple(order),
        unsure,
        lacks,
        tuple(dict.fromkeys(unsure_starts)),
        tuple(partly),
    )


def _is_known_whole(group: Sequence[LoggedProgram], lacks: Mapping[int, tuple[str, ...]]) -> bool:
    """Whether a log that lacks nothing tells all that there is of it, and the others have it."""
    if not any(program.rank in lacks for program in group):
        return True
    code = {part for program in group if program.rank not in lacks for part in program.code}
    return bool(code) and all(
        program.rank not in lacks or (program.is_whole and code <= {*program.code})
        for program in group
    )


def _list_starting(group: Sequence[LoggedProgram]) -> list[LoggedProgram]:
    """Those of which it is known what they start: by generated programs, else by graphs of a kind.

    Backends such as aot_eager generate no program. Passes of Inductor merge collectives, so that a
    graph is never compared with a program.
    """
    if any(program.has_program for program in group):
        return [program for program in group if program.has_program]
    traced = [{*program.in_graphs} - {"captured"} for program in group]
    parts = set.intersection(*traced) or {"captured"}
    return [
        replace(
            program, starts=tuple(row for part in sorted(parts) for row in program.in_graphs[part])
        )
        for program in group
        if parts <= {*program.in_graphs}
    ]


def _is_sure(
    row: CollectiveOrder, group: Sequence[LoggedProgram], lacks: Mapping[int, tuple[str, ...]]
) -> bool:
    """Whether logs that differ in what is started do so by more than what one of them lost."""
    pair = [program for program in group if program.rank in (row.rank, row.other)]
    if not all(program.is_whole for program in pair):
        return False
    # a backward is compiled later, and may be all that a log lacks
    return all(
        program.rank not in lacks
        or {part for other in pair for part in other.code} <= {*program.code}
        for program in pair
    )


def _list_unsure(programs: Sequence[LoggedProgram], ranks: int) -> Iterator[str]:
    """Groups of which the logs do not show that every rank in them starts something."""
    members: dict[str, set[int]] = defaultdict(set)
    sizes: dict[str, int] = {}  # told by some operators alone
    for program in programs:
        for row in program.starts:
            members[row.group].add(program.rank)
            if row.group_size is not None:
                sizes[row.group] = row.group_size
    for name, starting in members.items():
        if name != DEFAULT_GROUP and len(starting) < sizes.get(name, ranks):
            yield name


def _match(programs: Iterable[LoggedProgram]) -> Iterable[Sequence[LoggedProgram]]:
    """Programs that are one compile of several ranks.

    Each process counts frames by itself, so that a helper of one rank shifts the ids of the rest:
    a frame is the same where its function is, the nth of those there. Where a log does not tell the
    function, as one that ends within the compile, it is taken for what others call by that id.
    """
    frames: dict[tuple[int, str], str] = {}
    for program in programs:
        frames[program.rank, program.frame] = (
            frames.get((program.rank, program.frame)) or program.function
        )
    called = {frame: function for (_, frame), function in frames.items() if function}
    counted: Counter[tuple[int, str]] = Counter()
    keys: dict[tuple[int, str], tuple[str, int]] = {}
    for (rank, frame), function in frames.items():
        name = function or called.get(frame) or frame
        keys[rank, frame] = name, counted[rank, name]
        counted[rank, name] += 1
    compiles: dict[tuple[tuple[str, int], str], list[LoggedProgram]] = defaultdict(list)
    for program in programs:
        compiles[keys[program.rank, program.frame], program.variant].append(program)
    return [sorted(group, key=lambda program: program.rank) for group in compiles.values()]


def _place(compile_id: str) -> tuple[tuple[int, str], ...]:
    """Ids in the order of their numbers, those of compiled autograd such as `!0/0/0` first."""
    return tuple(
        (int(part), "") if part.isdecimal() else (-1, part) for part in compile_id.split("/")
    )


def _join(
    group: Sequence[LoggedProgram], ranks: Sequence[int], lacks: Mapping[int, tuple[str, ...]]
) -> RankCompile:
    have = tuple(program.rank for program in group)
    absent = [rank for rank in ranks if rank not in have]
    seconds = [
        sum(row.total_s for row in program.compiles) for program in group if program.compiles
    ]
    counts = [len(program.starts) for program in group if program.has_program]
    return RankCompile(
        compile_id=group[0].compile_id,
        ids=tuple(program.compile_id for program in group),
        function=next((row.function for program in group for row in program.compiles), ""),
        ranks=have,
        without=tuple(rank for rank in absent if rank not in lacks),
        unknown=tuple(rank for rank in absent if rank in lacks),
        programs=_group_by_code(group),
        cache=_tell_caches(group),
        shortest_s=min(seconds, default=0.0),
        longest_s=max(seconds, default=0.0),
        collectives=max(counts) if counts else None,
    )


def _group_by_code(group: Sequence[LoggedProgram]) -> tuple[tuple[int, ...], ...]:
    """Ranks whose logs agree in all that both have; those without any code are in none.

    What is not whole and agrees with no other is in none either: what is lost may be all the
    difference.
    """
    alike: list[list[LoggedProgram]] = []
    for program in sorted(group, key=lambda one: not one.is_whole):
        if not program.code:
            continue
        for same in alike:
            if all(_agree(program.code, other.code) for other in same):
                same.append(program)
                break
        else:
            if program.is_whole or not alike:
                alike.append([program])
    return tuple(sorted(tuple(sorted(program.rank for program in same)) for same in alike))


def _agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(text == other[part] for part, text in one.items() if part in other)


def _tell_caches(group: Sequence[LoggedProgram]) -> str:
    """What the caches answered, after the ranks where it is not the same for all."""
    by_answer: dict[str, list[int]] = {}
    for program in group:
        answer = ", ".join(dict.fromkeys(row.cache for row in program.compiles if row.cache))
        by_answer.setdefault(answer or "no answer", []).append(program.rank)
    if len(by_answer) == 1:
        return next(iter(by_answer)).replace("no answer", "")
    return "; ".join(f"{_name_ranks(ranks).lower()}: {a}" for a, ranks in by_answer.items())


def _compare_starts(
    compiled: RankCompile, group: Sequence[LoggedProgram]
) -> Iterator[CollectiveOrder]:
    names = dict.fromkeys(row.group for program in group for row in program.starts)
    for name in names:
        label = ALL_RANKS if name == DEFAULT_GROUP else name
        # of another group, a rank that starts nothing in it may just not be in it
        members = [
            (program.rank, own)
            for program in group
            if (own := [row for row in program.starts if row.group == name]) or label == ALL_RANKS
        ]
        for rank, others in members[1:]:
            first, started = members[0]
            for is_backward in (False, True):
                pair = [
                    [r for r in rows if r.is_backward is is_backward] for rows in (started, others)
                ]
                if any(pair):
                    row = compare_started(label, first, pair[0], rank, pair[1], _name(compiled))
                    yield replace(row, compile_id=compiled.compile_id)


def _tell(logs: LoggedRanks) -> Iterator[str]:
    yield from logs.hangs
    yield from _tell_lacks(logs)
    who = _name_ranks(logs.ranks)
    apart = [row for row in logs.compiles if row.without or len(row.programs) > 1]
    compared = [row for row in logs.compiles if not row.unknown and _is_compared(row)]
    if not apart and compared:
        whole = [row for row in compared if row.compile_id not in logs.partly]
        if whole:
            same = plural(len(whole), "program")
            yield f"{who} compiled the same {same}, as far as their logs show."
        if left := len(compared) - len(whole):
            yield (
                f"{who} agree in the logged part of {plural(left, 'program')}; the rest is unknown."
            )
    for row in apart[:_MOST_TOLD]:
        yield _explain(row)
    if apart[_MOST_TOLD:]:
        yield f"{plural(len(apart) - _MOST_TOLD, 'more compile')} differ: see .frame()."
    yield from _tell_times(logs.compiles)
    yield from _tell_ids(logs.compiles)
    yield from _tell_uncompared(logs)
    if count := len(logs.unsure_groups):
        yield (
            f"{plural(count, 'group')} not compared with ranks that start no collective in "
            f"{'it' if count == 1 else 'them'}: a log does not have the ranks of a group."
        )
    alike = [row for row in logs.order if not row.note]
    if alike and not logs.hangs:
        count = sum(row.collectives for row in alike)
        yield f"All ranks of each group start collectives in the same order ({count} compared)."
    is_like = not apart and any(row.compile_id not in logs.partly for row in compared)
    if is_like or any(row.without for row in apart):
        yield _NO_END


def _tell_lacks(logs: LoggedRanks) -> Iterator[str]:
    """Which log is not whole and why, and what is not known for it."""
    for rank, reasons in logs.lacks.items():
        yield f"The log of rank {rank} is incomplete: {'; '.join(reasons)}."
    missing: dict[tuple[int, ...], list[str]] = {}
    for row in logs.compiles:
        if row.unknown:
            missing.setdefault(row.unknown, []).append(_name(row))
    for ranks, names in missing.items():
        more = [f"{len(names) - _MOST_TOLD} more"] if names[_MOST_TOLD:] else []
        yield (
            f"It is unknown whether {_name_ranks(ranks).lower()} compiled "
            f"{join_words([*names[:_MOST_TOLD], *more])}."
        )
    for name, first, rank in logs.unsure_starts:
        yield f"Not compared: the collectives of ranks {first} and {rank} in {name}."


def _tell_times(compiles: Iterable[RankCompile]) -> Iterator[str]:
    for row in compiles:
        if row.longest_s > max(_LONGER * row.shortest_s, row.shortest_s + 1):
            times = [number_text(seconds, "seconds") for seconds in (row.shortest_s, row.longest_s)]
            why = f" ({row.cache})" if ":" in row.cache else ""
            yield (
                f"{_name(row)} took {times[0]} on one rank and {times[1]} on another{why}: "
                "the faster rank waits in its next collective."
            )


def _tell_ids(compiles: Iterable[RankCompile]) -> Iterator[str]:
    """The first that has another id on another rank; the rest of such a run is shifted as it is."""
    for row in compiles:
        for rank, id in zip(row.ranks, row.ids, strict=True):
            if id != row.compile_id:
                yield (
                    f"Compile ids differ between ranks: {_name(row)} of rank {row.ranks[0]} is "
                    f"{id} on rank {rank}."
                )
                return


def _tell_uncompared(logs: LoggedRanks) -> Iterator[str]:
    compared = [row for row in logs.compiles if row.programs]
    if count := len(logs.compiles) - len(compared):
        its = "its" if count == 1 else "their"
        compilations = plural(count, "compilation")
        yield f"Not compared: {compilations}, because no log contains {its} code."
    lost = {
        rank: row for row in compared for rank in row.ranks if rank not in sum(row.programs, ())
    }
    for rank, row in lost.items():
        why = "may have lost code" if rank in logs.lacks else "has no code"
        yield f"Not compared: rank {rank} in {_name(row)}, whose log {why}."


def _is_compared(row: RankCompile) -> bool:
    """Whether the logs of all ranks that compiled it have code of it."""
    return bool(row.programs) and set(row.ranks) == set(sum(row.programs, ()))


def _explain(row: RankCompile) -> str:
    sentences = []
    if row.without:
        have, lack = _name_ranks(row.ranks), _name_ranks(row.without).lower()
        sentences.append(f"{have} compiled {_name(row)}, {lack} did not.")
    if len(row.programs) > 1:
        kinds = "; ".join(_name_ranks(same).lower() for same in row.programs)
        sentences.append(f"{_name(row)} has {len(row.programs)} different programs: {kinds}.")
    return " ".join(sentences)


def _name(row: RankCompile) -> str:
    return f"{row.compile_id} ({row.function})" if row.function else row.compile_id


def _name_ranks(ranks: Sequence[int]) -> str:
    return f"Rank {ranks[0]}" if len(ranks) == 1 else f"Ranks {join_words([*map(str, ranks)])}"
