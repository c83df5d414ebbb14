"""Ranked configurations answer as a table, a heat map and a page; nothing is compiled here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sample_report import make

from workbench.analysis.tuning.tuned import RankedConfigs
from workbench.errors import UsageError
from workbench.report import Table
from workbench.report.machine_rows import RankedConfig
from workbench.views.tuning.ranked_answer import MODEL, heat_map


def ranked() -> RankedConfigs:
    return RankedConfigs(make(), "k0", "h100")


def only(*rows: RankedConfig) -> RankedConfigs:
    report = make()
    tables = {**report.tables, "ranked_configs": Table.of(RankedConfig, rows)}
    return RankedConfigs(replace(report, tables=tables), "k0", "h100")


def test_a_row_for_each_configuration() -> None:
    frame = ranked().frame()
    assert list(frame["rank"]) == [1, 2, 3, 4]
    assert frame["estimate"].all()
    assert frame["rejection"].iloc[3] == "spills 12 registers"


def test_sizes_by_warps_with_the_losers_marked() -> None:
    drawn = heat_map(ranked())
    assert drawn.columns == ("4 warps", "8 warps")
    cells = {row.label: [cell.words for cell in row.cells] for row in drawn.rows}
    assert cells == {
        "XBLOCK=128": ["1.30 µs", "1.60 µs"],
        "XBLOCK=256": ["1.50 µs", "4.20 µs, spills"],
    }
    assert drawn.rows[0].cells[0].shade == 0
    assert "estimate" in drawn.title


def test_what_cannot_be_launched_has_no_time() -> None:
    refused = RankedConfig("k0", "h100", "XBLOCK=8", 4, 1, rejection="cannot be launched: too big")
    found = only(
        replace(refused, choice="XBLOCK=4", rejection=None, rank=1, occupancy=0.5), refused
    )
    cells = {row.label: row.cells[0] for row in heat_map(found).rows}
    assert cells["XBLOCK=8"].words == "no launch"
    assert cells["XBLOCK=4"].words == "50 %"
    with pytest.raises(UsageError, match="Nothing to draw"):
        only(refused).plot()


def test_everything_says_that_it_is_a_model(tmp_path: Path) -> None:
    text = ranked().to_html(tmp_path / "ranked.html")
    assert (tmp_path / "ranked.html").read_text(encoding="utf-8") == text
    assert "<script" not in text
    assert "(estimate)" in ranked().plot().get_suptitle()
    for shown in (text, repr(ranked()), *ranked()._repr_mimebundle_().values()):
        assert MODEL in shown


def test_an_order_among_equals_is_no_order() -> None:
    same = [
        RankedConfig("k0", "h100", f"XBLOCK={2**n}", 4, 1, rank=n + 1, model_us=1.0 + n // 2)
        for n in range(3)
    ]
    assert "The model predicts the same time for the top 2" in only(*same).to_html()
    assert "the same time" not in only(same[0], same[2]).to_html()


def test_other_blocks_of_a_kernel_of_the_user_are_not_checked() -> None:
    own = ranked()
    assert "not checked" not in str(own)
    key = next(k.text for k in own.report.kernels if k.id == "k0")
    texts = {**own.report.texts, key: "@triton_heuristics.user_autotune(\ndef scaled(): ..."}

    shown = RankedConfigs(replace(own.report, texts=texts), "k0", "h100")

    assert "were not checked with other block sizes" in str(shown)
    assert "were not checked with other block sizes" in shown.to_html()
