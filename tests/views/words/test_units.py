from __future__ import annotations

from workbench.views.words.units import bytes_text, count_text, percent_text, seconds_text


def test_every_quantity_has_its_unit() -> None:
    assert bytes_text(33.6e6) == "33.6 MB"
    assert seconds_text(125) == "2 min 5 s"
    assert count_text(1_073_741_824) == "1.07 G"


def test_a_share_needs_a_whole() -> None:
    assert percent_text(1, 0) == "–"
    assert percent_text(-3, 4) == "−75 %"
    assert percent_text(0.25) == "25 %"
