from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.analysis.fusion.traffic import bytes_of
from workbench.analysis.fusion.why_not import Apart, Rejected, WhyNot, rejected
from workbench.report import Report, Table
from workbench.report.rows import FusionPair

BLOCK = Report.load(Path(__file__).parents[2] / "records" / "block.wbr")


def answers() -> dict[tuple[str, str], WhyNot]:
    why_not = Apart(BLOCK)
    return {(pair.a, pair.b): why_not(pair) for pair in rejected(BLOCK)}


def test_common_buffers_are_named_where_no_data_is_shared() -> None:
    why = answers()["op3", "op4"]
    assert why.sentence == (
        "Not fused with op4: no shared data. Both use buf2, but access it in different orders or "
        "parts. The scheduler found no memory access that fusion would save. They "
        "remain separate loops in k2."
    )
    assert why.shared == ("i0:buf2",)


def test_what_lies_between_is_named_with_its_buffer_and_a_remedy() -> None:
    why = answers()["op6", "op10_op11_op12_op13"]
    assert (why.a_kernel, why.b_kernel, why.reason) == ("k4", "k6", "another node lies between")
    assert "k5 (aten.topk.default, a fallback) must run between them: it reads buf6" in why.sentence
    fix = "Replace aten.topk.default with an operator that Inductor generates code for."
    assert why.help == fix
    assert "g7:mul_2" in why.a_nodes
    assert "g7:amax" in why.b_nodes


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("node2 is extern or nop", "The compiler cannot fuse"),
        ("numel/rnumel mismatch (reduce) (8, 16), (8, 1)", "different sizes"),
        ("device mismatch (cpu vs cuda)", "A kernel runs on one device."),
        ("other pairs come first: lower priority in the backend", "was fused with op11"),
        ("something new about node1", "something new about op10"),
    ],
)
def test_every_reason_becomes_a_sentence(reason: str, words: str) -> None:
    pair = Rejected("i0", "op10", "op12", reason, 8, 1, 0)
    assert words in Apart(BLOCK)(pair).sentence


def test_a_report_without_buffers_still_has_an_answer() -> None:
    bare = replace(BLOCK, tables={"fusion": BLOCK.fusion})
    why = Apart(bare)(Rejected("i0", "op3", "op4", "no shared data", 0, 1, 0))
    assert why.sentence.startswith("Not fused with op4: no shared data. They use no common buffer")
    assert why.a_kernel is None


def test_two_groups_have_no_more_in_common_than_the_smaller_moves() -> None:
    """The scheduler counts a table whole of which a lookup reads one row."""
    large = replace(BLOCK, tables={**BLOCK.tables, "fusion": with_shared(BLOCK, 10**9)})
    moved = {node.name: bytes_of(node) or 0 for node in BLOCK.scheduler_nodes}
    for pair in rejected(large):
        assert pair.shared is not None
        assert pair.shared <= min(moved.get(pair.a, 10**9), moved.get(pair.b, 10**9))


def with_shared(report: Report, size: int) -> Table[FusionPair]:
    rows = [replace(row, shared_bytes=size) for row in report.fusion]
    return Table.of(FusionPair, rows)
