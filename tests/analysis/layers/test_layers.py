"""Equal layers of a model are one, and the one that makes the peak is told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.analysis.layers.layers import (
    ModuleShare,
    extend_shares,
    format_numbers,
    layer_list,
    read_layer_signatures,
    sum_module_shares,
    template,
)
from workbench.analysis.memory.memory import memory
from workbench.report import Report

RECORDS = Path(__file__).parents[2] / "records"
LAYERS = Report.load(RECORDS / "layers.wbr")
STEP = Report.load(RECORDS / "training.wbr")


def test_equal_layers_are_one_share_and_the_one_that_makes_the_peak_is_opened() -> None:
    found = memory(LAYERS)
    shares = sum_module_shares(found)
    assert sum(share.bytes for share in shares) == found.peak
    (peak,) = [share for share in shares if share.makes_peak]
    (others,) = [share for share in shares if share.times > 1]
    assert (peak.name, others.name, others.times) == ("layers.3", "layers.0–2", 3)
    assert any(part.makes_peak for part in peak.parts)
    rows = [row for row in found.allocations if row.at_peak and "layers." in (row.module or "")]
    own = [sum(r.bytes for r in rows if f"layers.{n}" in (r.module or "")) for n in range(4)]
    assert (others.bytes, peak.bytes) == (sum(own[:3]), own[3])
    assert others.each == (min(own[:3]), max(own[:3]))
    assert sum(part.bytes for part in others.parts) == others.bytes
    assert {part.name for part in others.parts} >= {"up", "norm"}


def test_at_a_step_that_is_in_no_layer_all_four_are_one() -> None:
    found = memory(LAYERS)
    steps = [row.step for row in found.steps]
    shares = next(
        each
        for each in (sum_module_shares(found, step) for step in steps)
        if any(share.makes_peak and not share.layers for share in each)
        and any(share.times == 4 for share in each)
    )
    assert [share.name for share in shares if share.layers] == ["layers.0–3"]
    assert all(
        sum(share.bytes for share in sum_module_shares(found, step)) == found.live[step]
        for step in steps
    )


def test_layers_that_differ_are_not_one() -> None:
    shares = sum_module_shares(memory(STEP))
    assert {share.times for share in shares} == {1}
    assert {"G['MODEL'].0", "G['MODEL'].3"} <= {share.name for share in shares}
    assert (layer_list(LAYERS), layer_list(STEP)) == ("layers", None)
    signatures = read_layer_signatures(LAYERS)
    assert len(signatures) == 4
    assert len(set(signatures.values())) == 1


def test_a_table_has_a_row_for_each_share_and_part() -> None:
    frame = LAYERS.frame("memory_layers")
    (row,) = frame[frame.times == 3].itertuples()
    parts = frame[frame.part_of == row.module]
    assert parts.bytes.sum() == row.bytes
    assert row.least_each <= row.bytes / 3 <= row.most_each


def test_a_deeper_model_has_more_of_the_layers_that_are_alike() -> None:
    part = ModuleShare("up", 60)
    shares = (
        ModuleShare("layers.0–2", 90, (0, 1, 2), (30, 30), (part,)),
        ModuleShare("layers.3", 40, (3,), (40, 40), (), True),
        ModuleShare("head", 5),
    )
    more = extend_shares(shares, 28)
    assert [(s.name, s.times, s.bytes) for s in more] == [
        ("layers.*", 31, 930),
        ("layers.3", 1, 40),
        ("head", 1, 5),
    ]
    assert more[0].parts[0].bytes == 620
    assert extend_shares(shares, 0) == shares


@pytest.mark.parametrize(
    ("numbers", "text"), [([0], "0"), ([0, 1, 2, 5], "0–2, 5"), ([1, 3, 4], "1, 3–4")]
)
def test_runs_of_numbers_are_short(numbers: list[int], text: str) -> None:
    assert format_numbers(numbers) == text


def test_a_path_without_its_layer() -> None:
    assert template("layers.3.mlp.up") == "layers.*.mlp.up"
    assert template("h.12") == "h.*"
    assert template("head") is template(None) is None


def test_records_without_memory_have_no_rows() -> None:
    empty = replace(STEP, tables={})
    assert empty.frame("memory_layers").empty
