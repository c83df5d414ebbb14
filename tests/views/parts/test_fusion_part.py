"""The Fusion pane in plain words: kernels and library calls in their order, pairs apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from wire_types import mismatches

from workbench.analysis.fusion.fusion import list_before_fusion
from workbench.analysis.fusion.why_not import Apart, WhyNot, rejected
from workbench.report import Kernel, Report, Table
from workbench.views.document import document
from workbench.views.parts import fusion_part
from workbench.views.parts.fusion_part import build_fusion_part, build_pairs_part
from workbench.views.parts.report_parts import report_part
from workbench.views.wire.fusion_messages import FusionPart, PairsPart
from workbench.views.words.record_words import list_kernel_ops

RECORDS = Path(__file__).parents[2] / "records"
CONVOLUTIONS = Report.load(RECORDS / "convolutions.wbr")
BLOCK = Report.load(RECORDS / "block.wbr")
LAYERS = Report.load(RECORDS / "layers.wbr")


def says(report: Report) -> dict[str, str]:
    return {step["kernel"]: step["words"] for step in build_fusion_part(report)["steps"]}


def test_a_kernel_is_named_by_the_modules_and_operators_that_it_joins() -> None:
    assert says(CONVOLUTIONS)["k2"] == "`norm1` and `silu` run as one kernel: saves 112 kB a call"
    assert says(BLOCK)["k6"] == (
        "`lt`, `masked_fill` and `softmax` run as one kernel: saves 3.55 MB a call"
    )
    assert says(LAYERS)["k2"] == "`gelu` runs as one kernel, 4 times a call"
    parts = "a part of `norm2`, `silu`, `add` and `avg_pool2d` run as one kernel"
    assert says(CONVOLUTIONS)["k6"].startswith(parts)


def test_no_part_of_the_saving_is_more_than_the_saving(monkeypatch: pytest.MonkeyPatch) -> None:
    """As seen: `saves 22.0 MB …, 33.2 MB of that comes from operators that need no kernel`."""
    rows = fusion_part.list_saved_traffic(CONVOLUTIONS)
    gone = replace(rows[0], kernel=None, bytes_eager=10_000_000, bytes_fused=0)
    more = [replace(row, bytes_fused=3 * row.bytes_fused // 2) for row in rows]
    monkeypatch.setattr(fusion_part, "list_saved_traffic", lambda report: [*more, gone])
    sentence = build_fusion_part(CONVOLUTIONS)["sentence"]
    assert "10.0 MB" in sentence
    assert "of that" not in sentence
    assert "more than in eager" in sentence


def test_loops_of_different_sizes_are_told_by_their_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As seen: `numel/rnumel mismatch (reduce) (160, 32), (116, 5)`, torch's own words."""
    for words, told in (
        ("(reduce) (160, 32), (116, 5)", "160 × 116 and 32 × 5"),
        ("(non-reduce) (8, 18432), (1, 1)", "8 and 18432"),
    ):
        pairs = [replace(r, reason=f"numel/rnumel mismatch {words}") for r in rejected(BLOCK)[:1]]
        monkeypatch.setattr(fusion_part, "rejected", lambda report, pairs=pairs: pairs)
        (row,) = build_pairs_part(BLOCK)["rows"]
        assert row["reason"] == f"their loops differ, {told}"
        assert words in row["said"]


def test_library_calls_stand_between_the_kernels_in_the_order_of_the_program() -> None:
    steps = build_fusion_part(CONVOLUTIONS)["steps"]
    assert [step["kernel"] for step in steps] == [kernel.id for kernel in CONVOLUTIONS.kernels]
    assert steps[1]["words"] == "`conv1`: a library call"
    assert steps[0]["words"] == "Rearranges data of `conv1` and `skip`"
    called = says(BLOCK)["k5"]
    assert called == "`topk` falls back to eager: Inductor has no lowering"


def test_what_is_not_known_of_a_library_call_is_not_0_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [replace(row, bytes_alone=0) for row in fusion_part.list_saved_traffic(CONVOLUTIONS)]
    monkeypatch.setattr(fusion_part, "list_saved_traffic", lambda report: rows)
    assert {step["alone"] for step in build_fusion_part(CONVOLUTIONS)["steps"]} == {None}


@pytest.mark.parametrize("report", [CONVOLUTIONS, BLOCK, LAYERS])
def test_the_parts_are_what_the_wire_says(report: Report) -> None:
    assert mismatches(build_fusion_part(report), FusionPart) == []
    assert mismatches(build_pairs_part(report), PairsPart) == []
    assert report_part(report, "fusion:")["kind"] == "fusion"
    assert report_part(report, "pairs:")["kind"] == "pairs"


def test_the_sentence_says_what_fusion_saves_and_what_nothing_goes_into() -> None:
    assert build_fusion_part(BLOCK)["sentence"] == (
        "Fusion saves 8.80 MB of 34.8 MB a call, 25 % (estimate), in 4 of 16 kernels. "
        "8 library calls read and write whole tensors: nothing is fused into them."
    )
    little = build_fusion_part(LAYERS)["sentence"]
    assert little.startswith("Fusion saves almost none of 1.03 MB a call (estimate). 27 library")
    assert build_fusion_part(Report())["sentence"].startswith("No kernel was generated")


def test_what_no_kernel_moves_any_more_is_in_the_sum() -> None:
    """The whole is what the text of the record compares with, whichever groups have a kernel."""
    rows = [kernel for kernel in BLOCK.kernels if kernel.id != "k13"]
    fewer = replace(BLOCK, tables={**BLOCK.tables, "kernels": Table.of(Kernel, rows)})
    assert list_before_fusion(BLOCK)[0].bytes == pytest.approx(34.8e6, rel=2e-3)
    assert " of 34.8 MB a call, " in build_fusion_part(fewer)["sentence"]


def test_a_pair_says_what_its_kernels_do_and_keeps_the_schedulers_words() -> None:
    pair = build_pairs_part(BLOCK)["rows"][0]
    assert (pair["names"], pair["reason"]) == (
        "mul with lt, masked_fill …",
        "another operation runs in between",
    )
    assert "k5 (aten.topk.default, a fallback) must run between them: it needs" in pair["why"]
    assert "needs the result of k4, and k6 needs the result." in pair["why"]
    said = "op6 with op10_op11_op12_op13: intermediate nodes between node1 & node2. k5"
    assert pair["said"].startswith(said)
    (first, *_) = build_pairs_part(CONVOLUTIONS)["rows"]
    assert (first["a_kernel"], first["names"]) == ("k8", "two loops of norm1, silu")
    assert first["why"] == (
        "Both run in k8, but as two separate loops: an operation in between needs the result of "
        "one and feeds the other."
    )


def test_what_shares_data_is_not_said_to_have_nothing_in_common(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seen: "no element in common" beside 1.05 MB that both use."""
    pair = next(each for each in rejected(BLOCK) if each.shared)
    told = replace(pair, reason="no shared data")
    monkeypatch.setattr(fusion_part, "rejected", lambda report: [told])
    (row,) = build_pairs_part(BLOCK)["rows"]
    assert "no element in common" not in row["told"] + row["why"]
    monkeypatch.setattr(fusion_part, "rejected", lambda report: [replace(told, shared=0)])
    (row,) = build_pairs_part(BLOCK)["rows"]
    assert row["told"] == "no element in common"


def test_pairs_that_are_told_of_alike_are_one_row() -> None:
    rows = build_pairs_part(CONVOLUTIONS)["rows"]
    assert sum(row["times"] for row in rows) == len(rows)
    keys = ("graph", "side", "a_kernel", "b_kernel", "names", "told", "shared_bytes")
    seen = [tuple(row[key] for key in keys) for row in rows if row["times"]]  # type: ignore[literal-required]
    assert len(seen) == len(set(seen)) < len(rows)


def test_whichever_of_two_kernels_is_first_they_are_one_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As seen: k24 with k21 beside k21 with k24, both for one reason."""
    why_not = Apart(BLOCK)
    apart = (why_not(pair) for pair in rejected(BLOCK))
    pair = next(each for each, why in zip(rejected(BLOCK), apart, strict=True) if is_of_two(why))
    both = [pair, replace(pair, a=pair.b, b=pair.a)]
    monkeypatch.setattr(fusion_part, "rejected", lambda report: both)
    rows = build_pairs_part(BLOCK)["rows"]
    assert {(row["a_kernel"], row["b_kernel"]) for row in rows} == {
        (rows[0]["a_kernel"], rows[0]["b_kernel"]),
        (rows[0]["b_kernel"], rows[0]["a_kernel"]),
    }
    assert [row["times"] for row in rows] == [2, 0]


def is_of_two(why: WhyNot) -> bool:
    return bool(why.a_kernel and why.b_kernel and why.a_kernel != why.b_kernel)


def test_a_pair_names_what_stands_between() -> None:
    """The kind of reason, by which a list is filtered, says nothing of one pair."""
    rows = [row for each in (BLOCK, CONVOLUTIONS, LAYERS) for row in build_pairs_part(each)["rows"]]
    between = [row for row in rows if row["reason"] == "another operation runs in between"]
    told = {row["told"] for row in between}
    assert "another operation runs in between" not in told
    assert "k5 runs between: a fallback (aten.topk.default)" in told
    assert "k13 runs between" in told
    assert all(row["told"] == row["reason"] for row in rows if "memory" in row["reason"])


def test_a_document_at_rest_holds_no_sentence_of_a_pair() -> None:
    shown = document(BLOCK)
    assert not {"rejected", "groups"} & shown.keys()
    assert "Not fused with" not in str(shown)


@pytest.mark.parametrize("report", [CONVOLUTIONS, BLOCK, LAYERS])
def test_a_row_says_in_words_what_is_no_saving(report: Report) -> None:
    """A share of a "before" that is 0, or less than what is moved, says nothing."""
    for step in build_fusion_part(report)["steps"]:
        before, after, saved = step["before"], step["after"], step["saved"]
        assert saved is None or saved > 0
        assert before != 0
        if saved is None and after:
            more = "moves more" if before and after > 1.005 * before else ""
            assert step["unsaved"] == ("unknown" if before is None else more)
        else:
            assert step["unsaved"] == ""


def test_inputs_of_a_graph_are_no_operations_of_a_kernel() -> None:
    kernel = replace(BLOCK.kernels[0], ops=("primals_1", "aten.relu.default", "arg0_1"))
    assert list_kernel_ops(kernel) == "relu"


def test_measured_times_stand_beside_the_bytes_where_there_are_any() -> None:
    assert "time_us" not in {column["key"] for column in build_fusion_part(LAYERS)["columns"]}
    kernels = [replace(kernel, time_us=7.5) for kernel in LAYERS.kernels]
    timed = replace(LAYERS, tables={**LAYERS.tables, "kernels": Table.of(Kernel, kernels)})
    part = build_fusion_part(timed)
    assert "time_us" in {column["key"] for column in part["columns"]}
    assert {step["time_us"] for step in part["steps"]} == {7.5}
