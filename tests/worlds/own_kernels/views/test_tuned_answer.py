"""What a kernel was tuned to answers as a table, a heat map and a page; nothing is compiled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.analysis.tuning.test_tuned import NONE, TUNED, make_case
from tests.analysis.tuning.test_tuned_formats import BEST, SMALL
from workbench.errors import UsageError
from workbench.worlds.own_kernels.views.tuned_answer import heat_map


def test_a_row_for_each_configuration_with_its_verdict() -> None:
    frame = TUNED.frame()
    assert list(frame["verdict"]) == ["ranked", "ranked", "does not fit", "ranked", "ranked"]
    assert list(frame["M"]) == [1, 1, 1, 64, 64]
    assert frame["reason"].iloc[2] == "300 kB of 228 kB"


def test_values_by_warps_and_stages_with_what_was_discarded_marked() -> None:
    drawn = heat_map(TUNED, TUNED.cases[0])
    assert drawn.columns == ("4 warps, 3 stages", "4 warps, 5 stages", "8 warps, 4 stages")
    words = {row.label: [cell.words for cell in row.cells] for row in drawn.rows}
    assert words["BLOCK_M=16, BLOCK_N=64, BLOCK_K=64"] == ["", "9.00 µs", ""]
    assert words["BLOCK_M=256"] == ["", "", "does not fit"]
    assert "modelled" in drawn.title


def test_what_all_have_is_said_once() -> None:
    both = [replace(each, values=(*each.values, ("COMMON", 8))) for each in (BEST, SMALL)]
    drawn = heat_map(TUNED, make_case(1, *(replace(each, model_us=9.0) for each in both)))
    assert not any("COMMON" in row.label for row in drawn.rows)
    assert drawn.title.endswith("COMMON=8)")
    (alone,) = heat_map(TUNED, make_case(1, replace(both[0], model_us=9.0))).rows
    assert alone.label.endswith("COMMON=8")


def test_the_summary_names_the_best_and_that_it_was_modelled() -> None:
    text = repr(TUNED)
    assert "h100, M=1, N=7168, K=2048: ranked 2, does not fit 1" in text
    assert text.count("5 stages  9.00 µs") == 1
    assert "Modelled, not measured." in text


def test_a_page_and_a_picture(tmp_path: Path) -> None:
    page = TUNED.to_html(tmp_path / "tuned.html")
    assert page.count("does not fit") > 1
    assert "Modelled, not measured." in page
    assert "9.00 µs" in (TUNED._repr_html_() or "")
    assert TUNED.plot(M=64).axes


def test_nothing_is_drawn_where_nothing_can_be_used() -> None:
    with pytest.raises(UsageError, match="Nothing to draw"):
        NONE.plot()
