from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch
from recording import record_function

from workbench.compiler.recording.recorder import Recorder
from workbench.report import FusionPair, Report


def replay(pairs: Iterable[FusionPair], initial: Iterable[str]) -> list[tuple[str, ...]]:
    """The final groups of one lowered graph, from its pairs in order and its initial nodes."""
    groups: dict[str, tuple[str, ...]] = {name: (name,) for name in initial}
    for pair in pairs:
        if pair.verdict == "fused" and pair.result is not None:
            groups[pair.result] = groups.pop(pair.a) + groups.pop(pair.b)
    return sorted(tuple(sorted(members)) for members in groups.values())


def assert_replays(report: Report) -> None:
    graphs = list(dict.fromkeys(node.graph for node in report.scheduler_nodes))
    assert graphs
    for graph in graphs:
        nodes = [node for node in report.scheduler_nodes if node.graph == graph]
        pairs = [pair for pair in report.fusion if pair.graph == graph]
        final = sorted(tuple(sorted(n.members)) for n in nodes if n.phase == "after")
        assert replay(pairs, [n.name for n in nodes if n.phase == "before"]) == final


def recorded(fn: object, *args: torch.Tensor, **options: object) -> Report:
    torch.compiler.reset()
    with Recorder() as recorder:
        torch.compile(fn, options=options or None)(*args)  # type: ignore[call-overload]
    return recorder.report()


def test_forward_and_backward_replay(trained: Report, compiled_function: Report) -> None:
    assert_replays(trained)
    assert_replays(compiled_function)


def many(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a = (x @ y).relu()
    b = a.sum(-1, keepdim=True)
    return a / b, (x + 1).cos(), torch.cat([x, a], 0).sin().amax(0), torch.sort(y)[0] * 2


def foreach(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    return torch._foreach_add([x, y], 1.0)


@pytest.mark.parametrize("fn", [many, foreach])
def test_other_graphs_replay(fn: object) -> None:
    assert_replays(recorded(fn, torch.ones(8, 8), torch.ones(8, 8)))


def test_every_rejected_pair_has_a_reason(trained: Report) -> None:
    verdicts = {pair.verdict for pair in trained.fusion}
    assert {"fused", "rejected"} <= verdicts <= {"fused", "legal", "rejected", "postponed"}
    for pair in trained.fusion:
        assert pair.reason or pair.verdict in ("fused", "legal")
        assert pair.kind in ("vertical", "horizontal")
        if pair.verdict == "fused":
            assert pair.result
            assert {"memory_score", "proximity_score"} <= dict(pair.score).keys()


def embedded(words: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    looked_up = torch.nn.functional.embedding(words, table) + 1
    return torch.nn.functional.layer_norm(looked_up, (8,))


def test_of_a_table_only_what_is_looked_up_counts() -> None:
    report = recorded(embedded, torch.ones(4, dtype=torch.int64), torch.ones(100_000, 8))
    moved = [node.bytes_read or 0 for node in report.scheduler_nodes]
    assert max(moved) < 100_000  # the table has 3.2 MB


def test_fusion_saves_traffic(trained: Report) -> None:
    moved = {"before": 0, "after": 0}
    for node in trained.scheduler_nodes:
        moved[node.phase] += (node.bytes_read or 0) + (node.bytes_written or 0)
    assert 0 < moved["after"] < moved["before"]


def test_reading_nodes_does_not_count_flops_in_torch() -> None:
    from torch._dynamo.utils import counters

    counters["inductor"].clear()
    report = record_function()
    assert any(node.flops for node in report.scheduler_nodes)
    assert "flop_count" not in counters["inductor"]


def test_replay_needs_only_rows() -> None:
    rows = [
        FusionPair("i0", 1, "a", "b", "fused", "", result="a_b"),
        FusionPair("i0", 1, "a", "c", "rejected", "no"),
        FusionPair("i0", 2, "a_b", "d", "fused", "", result="a_b_d"),
    ]
    assert replay(rows, "abcd") == [("a", "b", "d"), ("c",)]
