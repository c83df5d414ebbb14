"""What runs at a time: who waits for whom, and what of a collective nothing hides."""

from __future__ import annotations

import dataclasses

import pytest

from workbench.analysis.collectives.streams import (
    StreamChange,
    bound_exposed,
    compare_streams,
    find_streams,
    time_collectives,
)
from workbench.report import Kernel, Report
from workbench.report.collectives.collective_rows import CLUSTER, HOOK, Collective
from workbench.report.table import Table
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
START, WAIT = (
    "torch.ops._c10d_functional.all_reduce_.default",
    "torch.ops._c10d_functional.wait_tensor.default",
)
SENT = 2**25


def record(*program: str, is_backward: bool = False) -> Report:
    """A program of kernels of 100 µs: `k`; `>` starts a collective, `<` awaits the oldest."""
    kernels, rows, open_rows = [], [], []
    for place, step in enumerate(program):
        id = f"k{place}"
        name = {"k": "triton_0", ">": START, "<": WAIT}[step[0]]
        language = "triton" if step == "k" else "extern"
        time = 100.0 if step == "k" else None
        kernels.append(
            Kernel(id, name, language, "g0", is_backward=is_backward, time_us=time, calls=1)
        )
        if step.startswith(">"):
            row = Collective(
                f"c{len(rows)}",
                "g0",
                is_backward,
                "all_reduce",
                bytes=SENT,
                group=step[1:] or "0",
                group_size=8,
                group_nodes=1,
                kernel=id,
                order=place,
            )
            rows.append(row)
            open_rows.append(row)
        elif step == "<":
            row = open_rows.pop(0)
            rows[rows.index(row)] = dataclasses.replace(row, wait_kernel=id, wait_order=place)
    made = Report(
        tables={"kernels": Table.of(Kernel, kernels), "collectives": Table.of(Collective, rows)},
        extra={CLUSTER: {"rank": 0, "world_size": 8, "is_fake": True, "gpus_per_node": 8}},
    )
    request = dataclasses.replace(made.request, target="h100")
    return time_collectives(dataclasses.replace(made, request=request), H100)


def exposed(report: Report) -> list[float]:
    return [row.exposed_us or 0.0 for row in report.collectives]


def test_what_is_awaited_at_once_is_exposed_whole() -> None:
    made = record("k", ">", "<", "k")
    (row,) = made.collectives
    assert row.est_us == pytest.approx(186, abs=1)
    assert row.exposed_us == pytest.approx(row.est_us)
    streams = find_streams(made)
    assert streams is not None
    assert streams.whole_us == pytest.approx(200 + streams.exposed_us)


def test_kernels_between_start_and_wait_hide_what_they_take() -> None:
    made = record("k", ">", "k", "<", "k")
    assert exposed(made) == [pytest.approx(made.collectives[0].est_us - 100)]
    hidden = record("k", ">", "k", "k", "k", "<")
    assert exposed(hidden) == [0]


def test_collectives_of_a_group_come_one_after_the_other_and_those_of_two_at_once() -> None:
    same, two = record(">", ">", "<", "<"), record(">0", ">1", "<", "<")
    first = same.collectives[0].est_us
    assert exposed(same) == pytest.approx([first, first])
    assert exposed(two) == pytest.approx([first, 0])


def test_what_nothing_awaits_ends_with_the_program() -> None:
    made = record("k", ">")
    streams = find_streams(made)
    assert exposed(made) == [0]
    assert streams is not None
    assert streams.whole_us == pytest.approx(100 + (made.collectives[0].est_us or 0))


def test_spans_of_a_lane_do_not_overlap_and_nothing_runs_in_a_pause() -> None:
    streams = find_streams(record(">0", "k", ">1", "<", "k", "<", "k"))
    assert streams is not None
    for lane in {span.lane for span in streams.spans}:
        own = [span for span in streams.spans if span.lane == lane]
        ends = [span.start_us + span.us for span in own]
        assert all(span.start_us >= end - 1e-9 for span, end in zip(own[1:], ends, strict=False))
    assert streams.kernels_us == pytest.approx(300)
    assert streams.whole_us == pytest.approx(300 + streams.exposed_us)


def test_a_target_without_links_says_why_and_has_no_streams() -> None:
    made = record(">", "<")
    rows = [dataclasses.replace(row, est_us=None, exposed_us=None) for row in made.collectives]
    bare = dataclasses.replace(
        made, tables={**made.tables, "collectives": Table.of(Collective, rows)}
    )
    again = time_collectives(bare, Catalogue.built_in()["a10"])
    (row,) = again.collectives
    assert row.est_us is None
    assert "pass nvlink_gb_s and nic_gb_s to wb.virtual_cluster" in (row.why or "")
    assert find_streams(again) is None


def test_a_record_without_collectives_is_left_as_it_is() -> None:
    empty = Report()
    assert time_collectives(empty, H100) is empty


def change(before: Report, after: Report) -> StreamChange:
    found = compare_streams(before, after)
    assert found is not None
    return found


def test_a_change_is_sure_where_no_error_of_the_model_turns_it() -> None:
    waited, hidden = record("k", ">", "<", "k", "k"), record("k", ">", "k", "<", "k")
    found = change(waited, hidden)
    assert found.saved_us == pytest.approx(100)  # the kernel that runs meanwhile
    assert found.is_sure
    # as much is saved whatever the links do, and kernels are measured here
    assert (found.least_us, found.most_us) == (pytest.approx(100), pytest.approx(100))
    assert change(hidden, waited).saved_us == pytest.approx(-100)
    assert change(hidden, waited).is_sure


def test_a_gain_that_slower_links_take_away_is_too_close_to_say() -> None:
    beside, alone = record(">", "k", "k", "<"), record(">", "<")
    found = change(beside, alone)  # 186 µs alone, beside two kernels of 100 µs: 14 µs less
    assert found.saved_us == pytest.approx(14, abs=1)
    assert found.least_us == pytest.approx(0, abs=1)  # links 15 % slower: either takes 214 µs
    assert found.most_us == pytest.approx(42, abs=1)
    assert not found.is_sure
    assert (change(alone, alone).least_us, change(alone, alone).most_us) == (0, 0)
    assert not change(alone, alone).is_sure


def test_a_small_message_may_take_nothing_or_twice_its_time() -> None:
    def shrunk(made: Report) -> Report:
        rows = [dataclasses.replace(row, bytes=1024, est_us=40.0) for row in made.collectives]
        tables = {**made.tables, "collectives": Table.of(Collective, rows)}
        return dataclasses.replace(made, tables=tables)

    found = change(shrunk(record("k", ">", "<")), shrunk(record("k", ">", "<", ">", "<")))
    assert (found.least_us, found.most_us) == (pytest.approx(-80), pytest.approx(0))
    assert not found.is_sure


def test_a_change_over_many_nodes_has_no_interval_and_says_why() -> None:
    made = record("k", ">", "<")
    far = [dataclasses.replace(row, group_nodes=64) for row in made.collectives]
    wide = dataclasses.replace(
        made, tables={**made.tables, "collectives": Table.of(Collective, far)}
    )
    found = change(wide, wide)
    assert (found.least_us, found.is_sure) == (None, False)
    assert "not validated on more than 4 nodes" in found.why
    assert compare_streams(made, Report()) is None


def with_messages(made: Report, *sizes: int) -> Report:
    """Its collectives of so many bytes, each of 100 µs."""
    rows = [
        dataclasses.replace(row, bytes=size, est_us=100.0)
        for row, size in zip(made.collectives, sizes, strict=True)
    ]
    return dataclasses.replace(
        made, tables={**made.tables, "collectives": Table.of(Collective, rows)}
    )


def test_what_only_one_of_them_has_is_off_on_its_own() -> None:
    """A bucket is another message than its parts: the model may be off otherwise on it."""
    parts = with_messages(record(">", "<", ">", "<"), SENT, SENT)
    bucket = with_messages(record(">", "<"), 2 * SENT)
    found = change(parts, bucket)
    assert found.saved_us == pytest.approx(100)
    # 200 µs and 100 µs, each off by 15 % in the direction that is worse
    assert (found.least_us, found.most_us) == (pytest.approx(55), pytest.approx(145))
    same = change(parts, with_messages(record(">", "<"), SENT))  # one of two equal ones is left
    assert (same.least_us, same.most_us) == (pytest.approx(85), pytest.approx(115))


def test_a_program_that_stays_as_it_is_makes_no_difference() -> None:
    """As seen of all-to-alls in a chain: "Too close to say: saves 0 s to 0 s"."""
    made = record("k", ">", "<", "k")
    assert change(made, made).is_alike
    assert not change(made, record("k", ">", "<")).is_alike


def test_a_collective_of_hooks_far_away_is_in_neither_call() -> None:
    made = record("k", ">", "<")
    far = dataclasses.replace(made.collectives[0], id="c9", origin=HOOK, group_nodes=64)
    tables = {**made.tables, "collectives": Table.of(Collective, [*made.collectives, far])}
    beside = dataclasses.replace(made, tables=tables)
    assert change(beside, beside).least_us == 0


def test_what_is_exposed_is_a_difference_and_may_be_off_by_more_than_the_whole() -> None:
    made = record(">", "k", "<")
    streams = find_streams(made)
    assert streams is not None
    sent = streams.collectives_us
    assert (streams.whole_us, streams.exposed_us) == (sent, sent - 100)
    least, most = bound_exposed(made, 0.2, 0.15)
    assert least == pytest.approx(0.85 * sent - 120)
    assert most == pytest.approx(1.15 * sent - 80)
    assert most > 1.2 * streams.exposed_us
