from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.report.collectives.collective_rows import Collective
from workbench.report.program.record_rows import Compile
from workbench.worlds.logs.reading.logged_ranks import LoggedProgram, compare_logs


def program(rank: int, id: str = "0/0", **more: Any) -> LoggedProgram:
    """A forward of one rank that starts an all-reduce of all ranks."""
    name = more.pop("function", "step")
    row = Compile(id, name, "train.py", 3, 0, 0.0, "first", f"rank {rank}", more.pop("s", 2.0))
    given = {
        "compiles": (row,),
        "code": {"captured": "graph", "forward": "kernels"},
        "starts": (started(),),
        **more,
    }
    return LoggedProgram(rank, id, **given)


def started(op: str = "all_reduce", group: str = "0", size: int | None = 8) -> Collective:
    return Collective("c0", "i0", False, op, size, "float32", group)


NO_END = (
    "Torch does not mark the end of a log: if a log was cut off, the later compiles of that "
    "process are unknown."
)


def test_ranks_that_agree_are_told_with_what_was_compared() -> None:
    found = compare_logs("step", [0, 1], [program(0), program(1)])
    assert found.is_same
    assert found.sentences == (
        "Ranks 0 and 1 compiled the same 1 program, as far as their logs show.",
        "All ranks of each group start collectives in the same order (1 compared).",
        NO_END,
    )


def test_a_compile_that_some_ranks_lack_is_told() -> None:
    found = compare_logs("step", [0, 1, 2], [program(0), program(1), program(2), program(2, "1/0")])
    (_, row) = found.compiles
    assert (row.ranks, row.without, found.is_same) == ((2,), (0, 1), False)
    assert NO_END in found.sentences  # those of ranks 0 and 1 may have ended before
    assert found.sentences[0] == "Rank 2 compiled 1/0 (step), ranks 0 and 1 did not."


def test_a_helper_of_one_rank_does_not_shift_what_is_compared() -> None:
    helper = program(1, function="helper", starts=())
    found = compare_logs("step", [0, 1], [program(0), helper, program(1, "1/0")])
    assert not found.hangs
    assert found.sentences == (
        "Rank 1 compiled 0/0 (helper), rank 0 did not.",
        "Compile ids differ between ranks: 0/0 (step) of rank 0 is 1/0 on rank 1.",
        "All ranks of each group start collectives in the same order (1 compared).",
        NO_END,
    )
    assert [row.ids for row in found.compiles] == [("0/0", "1/0"), ("0/0",)]


def test_a_log_that_ends_within_a_compile_is_matched_by_its_id() -> None:
    found = compare_logs("step", [0, 1], [program(0), program(1, compiles=())])
    assert [row.ranks for row in found.compiles] == [(0, 1)]


def test_a_log_that_ends_within_a_compile_still_tells_what_had_begun() -> None:
    whole = program(0, began="step train.py:3")
    helper = program(1, function="helper", starts=())
    cut = program(1, "1/0", compiles=(), began="step train.py:3")
    found = compare_logs("step", [0, 1], [whole, helper, cut])
    assert [row.ids for row in found.compiles] == [("0/0", "1/0"), ("0/0",)]
    assert found.compiles[0].shortest_s == 2.0  # of the rank whose log has an account of it


def test_programs_are_compared_by_what_both_logs_have() -> None:
    cached = program(1, code={"captured": "graph"}, starts=())
    other = program(2, code={"captured": "another", "forward": "kernels"})
    (row,) = compare_logs("step", [0, 1, 2], [program(0), cached, other]).compiles
    assert row.programs == ((0, 1), (2,))


def test_what_no_log_has_code_of_is_not_called_the_same() -> None:
    found = compare_logs(
        "step", [0, 1], [program(0, code={}, starts=()), program(1, code={}, starts=())]
    )
    words = "Not compared: 1 compilation, because no log contains its code."
    assert found.sentences == (words,)
    found = compare_logs("step", [0, 1], [program(0), program(1, code={}, starts=())])
    assert found.sentences == ("Not compared: rank 1 in 0/0 (step), whose log has no code.",)


CUT = {1: ("the log ends within a record",)}


def test_what_a_log_lacks_that_is_not_whole_is_not_known() -> None:
    found = compare_logs("step", [0, 1], [program(0), program(1), program(0, "1/0")], CUT)
    assert (found.compiles[1].without, found.compiles[1].unknown) == ((), (1,))
    assert found.is_same is None
    assert found.sentences == (
        "The log of rank 1 is incomplete: the log ends within a record.",
        "It is unknown whether rank 1 compiled 1/0 (step).",
        "Ranks 0 and 1 compiled the same 1 program, as far as their logs show.",
        "All ranks of each group start collectives in the same order (1 compared).",
        NO_END,
    )
    assert list(found.frame().unknown) == [(), (1,)]
    whole = compare_logs("step", [0, 1], [program(0), program(1), program(1, "1/0")], CUT)
    assert "Rank 1 compiled 1/0 (step), rank 0 did not." in whole.sentences  # of a whole log
    assert whole.is_same is False


def test_two_logs_cut_short_are_not_said_to_have_the_same_programs() -> None:
    both = {0: ("the log ends within a record",), **CUT}
    code = {"captured": "graph"}
    cut = [program(rank, code=code, starts=(), is_whole=False) for rank in (0, 1)]
    found = compare_logs("step", [0, 1], cut, both)
    assert found.is_same is None
    assert found.sentences == (
        "The log of rank 0 is incomplete: the log ends within a record.",
        "The log of rank 1 is incomplete: the log ends within a record.",
        "Ranks 0 and 1 agree in the logged part of 1 program; the rest is unknown.",
    )
    # a backward is compiled later, and may be what both logs lack
    said = compare_logs("step", [0, 1], [program(0), program(1)], both).sentences
    assert "Ranks 0 and 1 agree in the logged part of 1 program" in said[2]


def test_a_backend_without_programs_is_compared_by_its_graphs() -> None:
    code = {"captured": "graph", "traced": "graph"}
    first = program(0, code=code, starts=(), in_graphs={"captured": (), "traced": (started(),)})
    other = program(1, code=code, starts=(), in_graphs={"captured": (), "traced": ()})
    found = compare_logs("step", [0, 1], [first, other])
    assert found.hangs == (
        "Rank 0 deadlocks in 0/0 (step) unless rank 1 starts an all-reduce of 8 B of all ranks "
        "elsewhere: rank 1 does not start one in 0/0 (step).",
    )
    compiled = replace(other, code={"captured": "graph", "forward": "kernels"})
    assert not compare_logs("step", [0, 1], [first, compiled]).hangs  # passes may have merged it


def test_collectives_that_a_log_may_have_lost_hang_nobody() -> None:
    code = {"captured": "graph", "forward": "kernels", "backward": "kernels"}
    later = replace(started("reduce_scatter"), is_backward=True)
    first = program(0, code=code, starts=(started(), later))
    found = compare_logs("step", [0, 1], [first, program(1)], CUT)
    assert not found.hangs
    assert "Not compared: the collectives of ranks 0 and 1 in 0/0 (step)." in found.sentences
    assert compare_logs("step", [0, 1], [first, program(1)]).hangs  # of whole logs
    other = program(1, code={"captured": "graph", "forward": "other"}, starts=(), is_whole=False)
    found = compare_logs("step", [0, 1], [program(0), other], CUT)
    assert (found.hangs, found.compiles[0].programs) == ((), ((0,),))
    assert "Not compared: rank 1 in 0/0 (step), whose log may have lost code." in found.sentences
    differs = compare_logs("step", [0, 1], [program(0), replace(other, is_whole=True)], CUT)
    assert differs.hangs  # the compile ends in the log before it is cut


def test_a_rank_that_starts_something_else_would_hang_in_that_compile() -> None:
    more = program(1, starts=(started(), started("all_gather", size=None)))
    found = compare_logs("step", [0, 1], [program(0), more])
    assert found.hangs == (
        "Rank 1 deadlocks in 0/0 (step) unless rank 0 starts an all-gather of all ranks elsewhere: "
        "rank 0 does not start one in 0/0 (step), after 1 collective that both ranks start.",
    )
    assert found.order[0].compile_id == "0/0"


def test_unlike_collectives_hang_only_where_both_ranks_run_the_variant() -> None:
    other = program(1, "0/1", starts=(started("broadcast"),))
    (note,) = compare_logs("step", [0, 1], [program(0, "0/1"), other]).hangs
    assert note == (
        "Rank 1 deadlocks: it waits for a broadcast of 8 B of all ranks where rank 0 starts "
        "an all-reduce of 8 B, if both run 0/1 (step) at the same time."
    )


def test_a_dynamic_size_is_no_other_size() -> None:
    dynamic = program(1, starts=(started(size=None),))
    assert not compare_logs("step", [0, 1], [program(0), dynamic]).hangs


def test_a_compile_that_some_lack_and_the_others_have_unlike_is_told_as_both() -> None:
    other = program(1, code={"captured": "another"})
    found = compare_logs("step", [0, 1, 2], [program(0), other])
    assert found.sentences[0] == (
        "Ranks 0 and 1 compiled 0/0 (step), rank 2 did not. "
        "0/0 (step) has 2 different programs: rank 0; rank 1."
    )


def test_a_rank_without_collectives_of_a_group_may_not_be_in_it() -> None:
    pair = program(1, starts=(started(), started("all_gather", group="7")))
    found = compare_logs("step", [0, 1], [program(0), pair])
    assert not found.hangs
    assert found.unsure_groups == ("7",)
    assert (
        "1 group not compared with ranks that start no collective in it: a log does not have the "
        "ranks of a group." in found.sentences
    )


def test_a_rank_that_compiles_much_longer_is_told_with_its_cache() -> None:
    quick, slow = program(0, s=0.5), program(1, s=12.0)
    assert compare_logs("step", [0, 1], [quick, slow]).sentences[1] == (
        "0/0 (step) took 500 ms on one rank and 12.0 s on another: "
        "the faster rank waits in its next collective."
    )
