"""When hooks of blocks send something, beside kernels of 100 µs and messages of 60 µs."""

from __future__ import annotations

from dataclasses import replace

from workbench.analysis.blocks.block_calls import list_programs, name_kernels
from workbench.analysis.collectives.streams import Streams, find_streams
from workbench.report import Kernel, Report, SchedulerNode
from workbench.report.collectives.collective_rows import BLOCKS, HOOK, Collective
from workbench.report.table import Table

SENT_US = 60.0
BACK = "b0"


def list_rows(*programs: str, sums: bool = False) -> list[Collective]:
    """A gather of each block in each program; in the backward its gradients are scattered too."""
    rows: list[Collective] = []
    for graph, program in zip(("g0", BACK), programs, strict=False):
        for block in dict.fromkeys(program.split()):
            ops = ["all_gather"]
            if graph == BACK:
                ops += ["reduce_scatter", *(["all_reduce"] if sums else [])]
            for op in ops:
                group = "replicas" if op == "all_reduce" else "shards"
                id, name = f"c{len(rows)}", "" if block == "root" else block
                rows.append(
                    Collective(
                        id,
                        graph,
                        graph == BACK,
                        op,
                        group=group,
                        kernel="",
                        origin=HOOK,
                        est_us=SENT_US,
                        block=name,
                    )
                )
    return rows


def record(*programs: str, rows: list[Collective]) -> Report:
    """A forward and a backward, a kernel for each word: the block that it is of."""
    kernels, nodes, blocks = [], [], {}
    for graph, program in zip(("g0", BACK), programs, strict=False):
        for place, block in enumerate(program.split()):
            node, id = f"{graph}:op{place}", f"{graph}k{place}"
            blocks[node] = "" if block == "root" else block
            for phase in ("before", "after"):
                own = (f"op{place}",)
                nodes.append(SchedulerNode(node, graph, own[0], phase, "pointwise", own))
            kernels.append(
                Kernel(
                    id,
                    id,
                    "triton",
                    graph,
                    is_backward=graph == BACK,
                    time_us=100.0,
                    calls=1,
                    scheduler_nodes=(node,),
                )
            )
    made = Report(
        tables={
            "kernels": Table.of(Kernel, kernels),
            "scheduler_nodes": Table.of(SchedulerNode, nodes),
            "collectives": Table.of(Collective, rows),
        },
        extra={BLOCKS: blocks},
    )
    return replace(made, request=replace(made.request, target="h100"))


def follow(report: Report) -> Streams:
    streams = find_streams(report)
    assert streams is not None
    return streams


def list_starts(report: Report) -> list[tuple[str | None, float]]:
    rows = {row.id: row for row in report.collectives}
    spans = [span for span in follow(report).spans if span.kind == "collective"]
    return [
        (f"{rows[span.collective or ''].op} {rows[span.collective or ''].block}", span.start_us)
        for span in spans
    ]


def test_a_block_is_gathered_while_the_one_before_it_runs() -> None:
    forward = "root a a b b root"
    made = record(forward, rows=list_rows(forward))
    assert list_starts(made) == [
        ("all_gather ", 0.0),
        ("all_gather a", SENT_US),  # beside the kernel of the root
        ("all_gather b", SENT_US + 100),
    ]
    streams = follow(made)
    assert streams.exposed_us == SENT_US  # nothing runs before the first
    assert streams.whole_us == 600 + SENT_US


def test_gradients_are_scattered_beside_the_next_block_and_awaited_where_it_ends() -> None:
    forward, backward = "root a b", "root b b a a root"
    rows = list_rows(forward, backward)
    kept = [row for row in rows if (row.graph == BACK) is bool(row.block)]  # the root keeps its own
    made = record(forward, backward, rows=kept)
    at = 300.0 + SENT_US  # where the backward begins
    assert list_starts(made) == [
        ("all_gather ", 0.0),
        ("all_gather b", at),  # while the root runs
        ("all_gather a", at + 100),  # while b does
        ("reduce_scatter b", at + 300),
        ("reduce_scatter a", at + 500),
    ]
    assert follow(made).exposed_us == SENT_US


def test_the_last_sum_of_replicas_follows_its_scatter_and_is_awaited_at_the_end() -> None:
    backward = "a a"
    rows = [row for row in list_rows("a", backward, sums=True) if row.graph == BACK]
    made = record("a", backward, rows=rows)
    assert list_starts(made) == [
        ("all_gather a", 100.0),
        ("reduce_scatter a", 300 + SENT_US),
        ("all_reduce a", 300 + 2 * SENT_US),
    ]
    assert follow(made).exposed_us == 3 * SENT_US


def test_a_block_is_one_piece_wherever_the_scheduler_put_its_kernels() -> None:
    """What is computed again stands first in the graph, what frees memory late behind others."""
    backward = "a root b b b a b a a root"
    made = record("root a b", backward, rows=list_rows("root a b", backward))
    calls = [call.block for call in list_programs(made)[1].calls]
    assert calls == ["", *["b"] * 4, *["a"] * 4, ""]


def test_a_block_in_another_is_between_the_pieces_of_that() -> None:
    forward = "root a a.in a b root"
    made = record(forward, rows=list_rows(forward))
    assert [call.block for call in list_programs(made)[0].calls] == ["", "a", "a.in", "a", "b", ""]
    order = [row.block for row in name_kernels(made)]
    assert order == ["", "a", "a.in", "b"]


def test_calls_of_a_kernel_that_blocks_share_are_apart() -> None:
    forward = "root a b"
    made = record(forward, rows=list_rows(forward))
    first, second, third = made.kernels
    nodes = (*second.scheduler_nodes, *third.scheduler_nodes)
    shared = replace(second, time_us=200.0, calls=2, scheduler_nodes=nodes)
    kernels = Table.of(Kernel, [first, shared])
    report = replace(made, tables={**made.tables, "kernels": kernels})
    spans = [span for span in follow(report).spans if span.kind == "kernel"]
    assert [span.us for span in spans] == [100, 100, 100]
    assert [call.block for call in list_programs(report)[0].calls] == ["", "a", "b"]


def test_hooks_of_a_block_without_kernels_do_not_run() -> None:
    rows = list_rows("root a b")
    made = record("root a", rows=rows)
    assert [row.block for row in name_kernels(made)] == ["", "a"]
