"""Every rank runs in one process, and what is sent between them arrives."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional
from torch.distributed.tensor import Shard, distribute_tensor

import workbench as wb
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.process_groups.cluster import find_cluster
from workbench.worlds.clusters.running.rank_threads import (
    Rank,
    RankFailed,
    run_on_ranks,
)
from workbench.worlds.clusters.running.sent_collectives import (
    CollectiveChange,
    RanksDisagree,
    say_ranks,
)

FOUR = {"tp": 4}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    hook, state = sys.excepthook, torch.get_rng_state()
    group = tp.THREADED_GROUP.get()
    own = vars(group)["_start_coll"]
    yield
    assert not dist.is_initialized()
    assert sys.excepthook is hook
    assert torch.equal(torch.get_rng_state(), state)
    assert vars(group)["_start_coll"] is own


def test_a_rank_knows_which_it_is_and_its_groups() -> None:
    def work(rank: Rank) -> Any:
        tp_rank = rank.mesh.get_local_rank("tp")
        names = [
            rank.turns.name_group(rank.turns.group_of(rank.number, n), rank.number)
            for n in ("dp", "tp")
        ]
        return dist.get_rank(), dict(rank.coordinates), tp_rank, names

    found = run_on_ranks({"dp": 2, "tp": 2}, work)
    assert found == [
        (0, {"dp": 0, "tp": 0}, 0, ["dp", "tp"]),
        (1, {"dp": 0, "tp": 1}, 1, ["dp", "tp"]),
        (2, {"dp": 1, "tp": 0}, 0, ["dp", "tp"]),
        (3, {"dp": 1, "tp": 1}, 1, ["dp", "tp"]),
    ]


@pytest.mark.parametrize(
    ("send", "arrived"),
    [
        (lambda x, at: functional.all_reduce(x, "sum", at), [[6, 6]] * 4),
        (lambda x, at: functional.all_reduce(x, "max", at), [[3, 3]] * 4),
        (lambda x, at: functional.all_gather_tensor(x, 0, at), [[0, 0, 1, 1, 2, 2, 3, 3]] * 4),
        (
            lambda x, at: functional.reduce_scatter_tensor(x.repeat(2), "avg", 0, at),
            [[1.5]] * 4,
        ),
        (
            lambda x, at: functional.all_to_all_single(x.repeat(2), None, None, at),
            [[0, 1, 2, 3]] * 4,
        ),
    ],
)
def test_a_collective_sends(send: Callable[..., Any], arrived: list[list[float]]) -> None:
    def work(rank: Rank) -> list[float]:
        given = torch.full((2,), float(rank.number))
        return send(given, (rank.mesh, 0)).tolist()  # type: ignore[no-any-return]

    assert run_on_ranks(FOUR, work) == arrived


def test_a_tensor_on_a_mesh_is_spread_from_its_first_rank() -> None:
    def work(rank: Rank) -> list[float]:
        whole = torch.arange(5.0) if rank.number == 0 else torch.zeros(5)
        local: torch.Tensor = distribute_tensor(whole, rank.mesh, [Shard(0)]).to_local()
        return local.tolist()  # type: ignore[no-any-return]

    assert run_on_ranks(FOUR, work) == [[0, 1], [2, 3], [4], []]


def test_every_rank_draws_the_same_numbers_whatever_runs_between() -> None:
    def work(rank: Rank) -> list[float]:
        first = torch.rand(1).item()
        functional.all_reduce(torch.ones(1), "sum", (rank.mesh, 0))
        return [first, torch.rand(1).item()]

    found = run_on_ranks(FOUR, work)
    assert all(each == found[0] for each in found)
    assert found[0][0] != found[0][1]


def test_what_was_sent_is_noted_with_its_line() -> None:
    def work(rank: Rank) -> Any:
        rank.begin()
        functional.all_reduce(torch.ones(2, 3), "sum", (rank.mesh, 1))
        return rank.sent

    (sent,) = run_on_ranks({"dp": 2, "tp": 2}, work)[3]
    assert (sent.op, sent.reduction, sent.group, sent.ranks) == ("all_reduce", "sum", "tp", (2, 3))
    line = work.__code__.co_firstlineno + 2
    assert str(sent) == f"all_reduce(sum) over tp of float32 [2, 3] (test_rank_threads.py:{line})"


@pytest.mark.parametrize(
    ("change", "arrived"),
    [
        (CollectiveChange(1, reduction="avg"), [1.5] * 4),
        (CollectiveChange(1), [0.0, 1.0, 2.0, 3.0]),
        (CollectiveChange(0), [6.0] * 4),
    ],
)
def test_one_collective_can_be_made_another(change: CollectiveChange, arrived: list[float]) -> None:
    def work(rank: Rank) -> float:
        rank.begin(change)
        functional.all_reduce(torch.ones(1), "sum", (rank.mesh, 0))
        x = torch.tensor(float(rank.number))
        return functional.all_reduce(x, "sum", (rank.mesh, 0)).item()

    assert run_on_ranks(FOUR, work) == arrived


def test_a_collective_can_be_of_another_dimension() -> None:
    def work(rank: Rank) -> float:
        rank.begin(CollectiveChange(0, group="dp"))
        x = torch.tensor(float(rank.number))
        return functional.all_reduce(x, "sum", (rank.mesh, 1)).item()

    assert run_on_ranks({"dp": 2, "tp": 2}, work) == [2.0, 4.0, 2.0, 4.0]


def leave_one_out(rank: Rank) -> None:
    if rank.number != 3:
        functional.all_reduce(torch.ones(2), "sum", (rank.mesh, 0))


def reduce_otherwise(rank: Rank) -> None:
    functional.all_reduce(torch.ones(2), "max" if rank.number == 1 else "sum", (rank.mesh, 0))


def give_more(rank: Rank) -> None:
    functional.all_reduce(torch.ones(3 if rank.number == 2 else 2), "sum", (rank.mesh, 0))


def wait_crosswise(rank: Rank) -> None:
    first, second = ((0, 1), (1, 0))[rank.number in (1, 2)]
    for dim in (first, second):
        functional.all_reduce(torch.ones(2), "sum", (rank.mesh, dim))


@pytest.mark.parametrize(
    ("sizes", "work", "wrong", "words"),
    [
        (FOUR, leave_one_out, (3,), r"0, 1 and 2 wait in all_reduce\(sum\).*rank 3 has ended"),
        (FOUR, reduce_otherwise, (1,), r"rank 1 all_reduce\(max\) .*, the ranks 0, 2 and 3"),
        (FOUR, give_more, (2,), r"different sizes or dtypes.*: rank 2 .*\[3\].*, the ranks 0, 1"),
        ({"dp": 2, "tp": 2}, wait_crosswise, (0, 1, 2, 3), "Deadlock: "),
    ],
)
def test_ranks_that_would_hang_are_named(
    sizes: dict[str, int], work: Callable[[Rank], None], wrong: tuple[int, ...], words: str
) -> None:
    with pytest.raises(RanksDisagree, match=words) as raised:
        run_on_ranks(sizes, work)
    assert raised.value.wrong == wrong


def test_what_one_rank_raises_ends_the_others() -> None:
    def work(rank: Rank) -> None:
        if rank.number == 2:
            raise KeyError("weight")
        functional.all_reduce(torch.ones(1), "sum", (rank.mesh, 0))

    with pytest.raises(RankFailed, match="rank 2: 'weight'") as raised:
        run_on_ranks(FOUR, work)
    assert isinstance(raised.value.error, KeyError)


def test_a_group_that_is_there_stays_in_its_place() -> None:
    with wb.virtual_cluster({"dp": 64, "tp": 8}, rank=9) as mesh:
        before = find_cluster()
        run_on_ranks({"tp": 2}, lambda rank: functional.all_reduce(torch.ones(1), "sum", rank.mesh))
        assert find_cluster() == before
        assert mesh["tp"].get_group().group_name in {g.name for g in before.groups}  # type: ignore[union-attr]
        assert tp.RESOLVE_PROCESS_GROUP.get()(mesh["tp"].get_group().group_name).size() == 8


def test_a_group_that_some_ranks_never_make_is_said() -> None:
    def work(rank: Rank) -> None:
        if rank.number < 2:
            dist.new_group([0, 1, 2, 3])

    with pytest.raises(RanksDisagree, match="0 and 1 wait in the creation of a process group"):
        run_on_ranks(FOUR, work)


def test_a_rank_that_compiles_waits_for_nobody() -> None:
    def work(rank: Rank) -> None:
        with rank.compiling():
            functional.all_reduce(torch.ones(1), "sum", (rank.mesh, 0))

    with pytest.raises(RankFailed, match="capture on rank 0 starts a collective"):
        run_on_ranks(FOUR, work)


def test_an_interrupt_ends_every_rank_before_the_process_group_is_undone() -> None:
    seen = []

    def work(rank: Rank) -> None:
        functional.all_reduce(torch.ones(1), "sum", (rank.mesh, 0))
        if rank.number == 2:
            for beat in range(500):
                if not rank.turns.failed and beat % 100 == 0:
                    # again: CPython drops an interrupt that comes within a finalizer
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
                time.sleep(0 if rank.turns.failed else 0.01)
        seen.append(dist.get_world_size())
        functional.all_reduce(torch.ones(1), "sum", (rank.mesh, 0))
        seen.append("sent")

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run_on_ranks(FOUR, work)
    assert threading.active_count() == before
    assert set(seen) == {4}


def test_ranks_in_words() -> None:
    assert [say_ranks([3]), say_ranks([0, 1, 2])] == ["rank 3", "the ranks 0, 1 and 2"]
