"""Every rank of a cluster in one process: a thread for each, between which collectives send.

The process group is torch's own of threads, which its tests of DTensors use. One rank runs at a
time, until it waits for others, so that each has a random state of its own; where all wait for one
another, that is found at once, and what each of them waits for is said.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any, TypeVar

import numpy as np
import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.process_groups.cluster import keep_process_state
from workbench.errors import UsageError
from workbench.worlds.clusters.running.sent_collectives import (
    WORDS,
    CollectiveChange,
    RanksDisagree,
    Sent,
    Sizes,
    find_input,
    find_line,
    find_place,
    name_reduction,
    say_ranks,
)

Made = TypeVar("Made")

_END = "the end of the call"
_ONE_AT_A_TIME = threading.Lock()  # the ranks of two runs would meet in one process group


class RankFailed(Exception):
    """What one rank raised."""

    def __init__(self, rank: int, error: BaseException):
        super().__init__(f"rank {rank}: {error}")
        self.rank, self.error = rank, error


class _Stopped(BaseException):
    """Ends a rank where another one has failed, or where the user has stopped all of them."""


@dataclass(frozen=True)
class _RandomState:
    torch: torch.Tensor
    python: Any
    numpy: Any

    @classmethod
    def now(cls) -> _RandomState:
        return cls(torch.get_rng_state(), random.getstate(), np.random.get_state())

    def set(self) -> None:
        torch.set_rng_state(self.torch)
        random.setstate(self.python)
        np.random.set_state(self.numpy)


@dataclass
class Rank:
    """One rank, in its own thread: which it is, its mesh, and what it started since `begin`."""

    number: int
    turns: _Turns
    mesh: Any = None
    sent: list[Sent] = field(default_factory=list)
    change: CollectiveChange | None = None
    is_compiling: bool = False
    step: str = ""

    @property
    def coordinates(self) -> Mapping[str, int]:
        """Its place along each dimension of the mesh."""
        return self.turns.coordinates(self.number)

    def say_step(self) -> str:
        """What it runs, before a sentence."""
        return f"{self.step}: " if self.step else ""

    def restart_random(self) -> None:
        """Give it the random states that every rank began with."""
        self.turns.began.set()

    def begin(self, change: CollectiveChange | None = None) -> None:
        """Count collectives from 0 again, with one of them changed."""
        self.sent, self.change = [], change

    @contextmanager
    def apart(self) -> Iterator[None]:
        """While it runs something whose collectives are not counted, nor changed."""
        before = self.sent, self.change
        self.begin()
        try:
            yield
        finally:
            self.sent, self.change = before

    @contextmanager
    def during(self, step: str) -> Iterator[None]:
        """While this rank runs something, which messages then name."""
        before, self.step = self.step, step
        try:
            yield
        finally:
            self.step = before

    def exchange(self, value: Made) -> list[Made]:
        """What each rank gave here, by rank; every rank has to call it."""
        return self.turns.exchange(self.number, value)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """While this rank compiles: others would wait for torch's lock if it waited for them."""
        self.is_compiling = True
        try:
            yield
        finally:
            self.is_compiling = False


class _Meeting:
    """One collective, until all ranks of its group have come."""

    def __init__(self, turns: _Turns, group: tuple[int, ...]):
        self._turns, self._group = turns, group
        self._given: dict[int, Any] = {}
        self._hows: dict[int, Any] = {}
        self._sent: dict[int, Sent] = {}
        self._done = False

    @property
    def missing(self) -> list[int]:
        """The ranks of its group that have not come."""
        return [rank for rank in self._group if rank not in self._given]

    def come(self, rank: int, how: Any) -> None:
        """A rank starts it; `how` is torch's, None to leave values as they are."""
        self._hows[rank] = how

    def join(self, place: int, data: Any) -> Any:
        """Called by torch's process group, with the rank's place in it."""
        del place  # of the group that was asked for, which a change may have made another
        rank = self._turns.current
        sent = rank.sent[-1]
        tensor = find_input(sent.op, data)
        if tensor is not None:
            dtype = str(tensor.dtype).removeprefix("torch.")
            sent = rank.sent[-1] = replace(sent, dtype=dtype, shape=tuple(tensor.shape))
        self._given[rank.number], self._sent[rank.number] = data, sent
        if self.missing:
            self._turns.wait(lambda: self._done, self)
        else:
            self._turns.close(self._group)
            self._agree("start different collectives", {r: s.kind for r, s in self._sent.items()})
            shapes = {r: (s.dtype, s.shape) for r, s in self._sent.items() if s.dtype}
            if sent.op != "all_to_all" and shapes:  # one rank alone gives what is scattered
                self._agree("pass different sizes or dtypes", shapes)
            how = self._hows[rank.number]
            if how is not None:
                how.work([self._given[member] for member in self._group])
            self._done = True
        return tp.THREADED_WORK.get()(data)

    def _agree(self, what: str, kinds: Mapping[int, Any]) -> None:
        """Raise `RanksDisagree` with the ranks of which fewer are alike."""
        if len(set(kinds.values())) == 1:
            return
        usual = Counter(kinds.values()).most_common(1)[0][0]
        wrong = sorted(rank for rank, kind in kinds.items() if kind != usual)
        others = sorted(set(kinds) - set(wrong))
        own, usually = (f"{say_ranks(r)} {self._sent[r[0]]}" for r in (wrong, others))
        step = self._turns.current.say_step()
        raise RanksDisagree(f"{step}The ranks {what} at the same point: {own}, {usually}.", wrong)

    def __str__(self) -> str:
        return str(next(iter(self._sent.values())))


class _Turns:
    """Who runs, who waits for what, and what is sent between them."""

    def __init__(self, sizes: Sizes):
        self.sizes = dict(sizes)
        self.world = prod(sizes.values())
        self._turn = threading.Condition(threading.Lock())
        self._ranks: dict[int, Rank] = {}
        self._waiting: dict[int, tuple[Callable[[], bool], Any]] = {}
        self._ended: set[int] = set()
        self._open: dict[tuple[int, ...], _Meeting] = {}
        self._given: list[dict[int, Any]] = []
        self._exchanged: dict[int, int] = {}
        self.began = _RandomState.now()
        self.failed: list[tuple[int, BaseException]] = []
        # an interrupted Thread.join takes the thread for ended (CPython 3.11)
        self.over = [threading.Event() for _ in range(self.world)]

    @property
    def current(self) -> Rank:
        """The rank whose thread this is."""
        return self._ranks[threading.get_ident()]

    def coordinates(self, rank: int) -> dict[str, int]:
        """The place of a rank along each dimension."""
        return find_place(self.sizes, rank)

    def group_of(self, rank: int, name: str) -> tuple[int, ...]:
        """The ranks that differ from one in this dimension alone."""
        own = {key: at for key, at in self.coordinates(rank).items() if key != name}
        return tuple(
            other
            for other in range(self.world)
            if {key: at for key, at in self.coordinates(other).items() if key != name} == own
        )

    def name_group(self, ranks: tuple[int, ...], rank: int) -> str:
        """What the mesh calls a group; its ranks where it has no name for them."""
        names = [name for name in self.sizes if self.group_of(rank, name) == ranks]
        if names:
            return " and ".join(names)
        if len(ranks) == self.world:
            return "all ranks"
        return f"the ranks {', '.join(map(str, ranks))}"

    def start(self, how: Any, ranks: tuple[int, ...]) -> _Meeting:
        """Where a rank meets the others of its group for a collective of torch's."""
        rank = self.current
        if self.failed:
            raise _Stopped
        if rank.is_compiling:
            raise UsageError(
                f"The capture on rank {rank.number} starts a collective, which other ranks cannot "
                "join, because ranks run one at a time. Omit the torch option that requires it."
            )
        op = WORDS.get(type(how).__name__, type(how).__name__)
        reduction = name_reduction(how)
        group = self.name_group(ranks, rank.number)
        sent = Sent(len(rank.sent), op, reduction, group, ranks, line=find_line())
        rank.sent.append(sent)
        if rank.change is not None and rank.change.number == sent.number:
            how, ranks = self._changed(rank, how, ranks)
        if ranks not in self._open:
            self._open[ranks] = _Meeting(self, ranks)
        self._open[ranks].come(rank.number, how)
        return self._open[ranks]

    def _changed(self, rank: Rank, how: Any, ranks: tuple[int, ...]) -> Any:
        change = rank.change
        assert change is not None
        if change.group:
            return how, self.group_of(rank.number, change.group)
        if not change.reduction:
            return None, (rank.number,)
        options: Any = torch.distributed.AllreduceOptions()
        options.reduceOp = getattr(torch.distributed.ReduceOp, change.reduction.upper())
        is_plain = type(how).__name__ == "AllReduce"
        return type(how)(options.reduceOp if is_plain else options.reduceOp.op), ranks

    def close(self, ranks: tuple[int, ...]) -> None:
        """All ranks of a group have met: the next collective is another meeting."""
        del self._open[ranks]

    def exchange(self, rank: int, value: Any) -> list[Any]:
        """See `Rank.exchange`."""
        number = self._exchanged[rank] = self._exchanged.get(rank, -1) + 1
        while len(self._given) <= number:
            self._given.append({})
        values = self._given[number]
        values[rank] = value
        self.wait(lambda: len(values) == self.world, _END)
        return [values[place] for place in range(self.world)]

    def gather_at(self, store: Any, count: int) -> None:
        """Wait until `count` ranks are at a store, in place of torch's barrier."""
        store.add("workbench", 1)
        self.wait(lambda: store.add("workbench", 0) >= count, "the creation of a process group")

    def wait(self, until: Callable[[], bool], what: Any) -> None:
        """Let other ranks run until something holds.

        Raises `RanksDisagree` where nobody is left who could bring it about.
        """
        rank, random_state = self.current, _RandomState.now()
        self._waiting[rank.number] = until, what
        self._turn.notify_all()
        try:
            while True:
                if self.failed:
                    raise _Stopped
                ready = [number for number, (holds, _) in self._waiting.items() if holds()]
                # the first of them goes on, so that a run is the same each time
                if ready and min(ready) == rank.number:
                    return
                if not ready and len(self._waiting) + len(self._ended) == self.world:
                    raise self._stuck()
                self._turn.wait()
        finally:
            del self._waiting[rank.number]
            random_state.set()

    def _stuck(self) -> RanksDisagree:
        meetings = {rank: what for rank, (_, what) in self._waiting.items() if what is not _END}
        ended = sorted(set(range(self.world)) - set(meetings))
        parts = []
        absent: set[int] = set()
        for what in dict.fromkeys(meetings.values()):
            who = [rank for rank, other in sorted(meetings.items()) if other is what]
            parts.append(f"{say_ranks(who)} {'waits' if len(who) == 1 else 'wait'} in {what}")
            absent |= set(what.missing) if isinstance(what, _Meeting) else set()
        if ended:
            has = "has" if len(ended) == 1 else "have"
            parts.append(f"{say_ranks(ended)} {has} ended")
        steps = {rank.say_step() for rank in self._ranks.values() if rank.number in meetings}
        step = steps.pop() if len(steps) == 1 else ""
        few = ended or sorted(absent) or sorted(meetings)
        return RanksDisagree(f"{step}Deadlock: {', '.join(parts)}.", few)

    def run(self, number: int, store: Any, work: Callable[[Rank], Made], made: list[Any]) -> None:
        """The whole life of a rank, in its own thread."""
        import torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh

        rank = Rank(number, self)
        with self._turn:
            self._ranks[threading.get_ident()] = rank
            try:
                if self.failed:
                    raise _Stopped
                self.began.set()
                dist.init_process_group("threaded", rank=number, world_size=self.world, store=store)
                try:
                    sizes = tuple(self.sizes.values())
                    names = tuple(self.sizes)
                    rank.mesh = init_device_mesh("cpu", sizes, mesh_dim_names=names)
                    made[number] = work(rank)
                finally:
                    dist.destroy_process_group()
            except _Stopped:
                pass
            except BaseException as error:
                self.failed.append((number, error))
            finally:
                self._ended.add(number)
                self._turn.notify_all()
                self.over[number].set()


def _run_threads(turns: _Turns, live: Callable[[int], None]) -> None:
    """Run every rank in a thread of its own; none is left afterwards, also after Ctrl-C."""
    threads = [
        threading.Thread(target=live, args=(rank,), daemon=True) for rank in range(turns.world)
    ]
    try:
        for thread in threads:
            thread.start()
        for over in turns.over:
            over.wait()
    except BaseException as stopped:  # Ctrl-C: no rank may outlive what is undone below
        turns.failed.append((-1, stopped))
        for thread, over in zip(threads, turns.over, strict=True):
            if thread.ident is not None:
                over.wait()
        raise
    finally:
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def run_on_ranks(sizes: Sizes, work: Callable[[Rank], Made]) -> list[Made]:
    """What `work` gives on each rank of a mesh, all in this process, with collectives that send.

    A process group that is there meanwhile is out of sight; it and the random states are afterwards
    as before, also after an error. Raises `RanksDisagree`, or `RankFailed` with what the first
    rank raised that failed.
    """
    import torch.distributed as dist

    random_state = _RandomState.now()
    with _ONE_AT_A_TIME, keep_process_state() as process_patches:
        turns = _Turns(sizes)
        results: list[Any] = [None] * turns.world
        process_patches.callback(random_state.set)
        group = tp.THREADED_GROUP.get()

        def start(cls: type, how: Any, of: Any) -> _Meeting:
            return turns.start(how, tuple(dist.get_process_group_ranks(of)))

        process_patches.attribute(group, "_start_coll", classmethod(start))
        process_patches.attribute(group, "_end_coll", classmethod(lambda cls, how, of: None))
        process_patches.name(
            tp.THREADED_BARRIER, lambda rank, store, name, size, *more: turns.gather_at(store, size)
        )
        # values are there once the ranks have met; what is handed on unawaited torch warns of
        process_patches.name(tp.WRAP_COLLECTIVE, tp.WAIT_TENSOR.get())
        tp.ENTER_THREADED_GROUPS.get()()
        process_patches.callback(tp.LEAVE_THREADED_GROUPS.get())
        tp.ISOLATE_GROUPS.get()(True)
        process_patches.callback(tp.ISOLATE_GROUPS.get(), False)
        store: Any = vars(dist)["HashStore"]()
        _run_threads(turns, partial(turns.run, store=store, work=work, made=results))
    if turns.failed:
        rank, error = turns.failed[0]
        if isinstance(error, RanksDisagree):
            raise error
        raise RankFailed(rank, error) from error
    return results
