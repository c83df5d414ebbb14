from __future__ import annotations

from collections.abc import Sequence

import pytest

from workbench.report import Report, Table
from workbench.report.collectives.collective_rows import Collective
from workbench.worlds.clusters.findings.rank_programs import (
    RankGroup,
    RankProgram,
    compare_orders,
    list_uncompared,
)

PAIR = (0, 3)


def program(rank: int, *started: tuple[str, int], ranks: Sequence[int] = PAIR) -> RankProgram:
    """A rank whose group of one dimension, under a name of its own, starts these collectives."""
    name = f"group of {rank}"
    rows = [
        Collective(f"c{place}", "g0", False, op, size, "float32", name, order=place)
        for place, (op, size) in enumerate(started)
    ]
    tables = {"collectives": Table.of(Collective, rows)}
    groups = {name: RankGroup("tp", tuple(ranks))}
    return RankProgram(rank, {"tp": rank}, groups=groups, report=Report(tables=tables))


def test_equal_orders_are_counted() -> None:
    started = [("all_gather", 64), ("reduce_scatter", 64)]
    (row,) = compare_orders([program(0, *started), program(3, *started)])
    assert (row.group, row.group_size, row.rank, row.other) == ("tp", 2, 3, 0)
    assert (row.collectives, row.place, row.note) == (2, None, "")


@pytest.mark.parametrize(
    ("first", "other", "words"),
    [
        (
            [("all_reduce", 8)],
            [("all_reduce", 8), ("all_gather", 64)],
            "Rank 3 deadlocks: it waits for an all-gather of 64 B in the group tp that rank 0 "
            "never starts, after 1 collective that both ranks start.",
        ),
        (
            [("reduce_scatter", 8)],
            [],
            "Rank 0 deadlocks: it waits for a reduce-scatter of 8 B in the group tp that rank 3 "
            "never starts.",
        ),
        (
            [("all_reduce", 8)],
            [("all_gather", 64)],
            "Rank 3 deadlocks: it waits for an all-gather of 64 B in the group tp where rank 0 "
            "starts an all-reduce of 8 B.",
        ),
        (
            [("all_reduce", 8)],
            [("all_reduce", 16)],
            "Ranks 0 and 3 do not agree on an all-reduce in the group tp: 8 B of float32 on rank "
            "0, 16 B of float32 on rank 3. NCCL does not check this: the program hangs or "
            "corrupts data.",
        ),
    ],
)
def test_the_first_that_differs_is_told(
    first: list[tuple[str, int]], other: list[tuple[str, int]], words: str
) -> None:
    (row,) = compare_orders([program(0, *first), program(3, *other)])
    assert row.note == words
    assert row.place == row.collectives


def test_what_an_all_to_all_sends_may_differ() -> None:
    uneven = program(0, ("all_to_all", 8)), program(3, ("all_to_all", 16))
    assert [row.note for row in compare_orders(uneven)] == [""]


def test_a_backward_comes_after_the_forward_whatever_its_places_are() -> None:
    rows = [
        Collective("c0", "g9", True, "all_gather", 8, "float32", "0", order=0),
        Collective("c1", "g5", False, "all_reduce", 8, "float32", "0", order=4),
    ]
    ranks = [
        RankProgram(
            rank,
            {"tp": rank},
            groups={"0": RankGroup("tp", PAIR)},
            report=Report(tables={"collectives": Table.of(Collective, kept)}),
        )
        for rank, kept in ((0, rows), (3, rows[1:]))
    ]
    (row,) = compare_orders(ranks)
    assert row.note.startswith("Rank 0 deadlocks: it waits for an all-gather")
    assert row.collectives == 1  # the all-reduce of the forward


def test_ranks_of_no_common_group_are_not_compared() -> None:
    apart = [program(0, ("all_reduce", 8)), program(5, ("all_reduce", 8), ranks=(4, 5))]
    rows = compare_orders(apart)
    assert rows == []
    assert list(list_uncompared(apart, rows)) == [0, 5]
