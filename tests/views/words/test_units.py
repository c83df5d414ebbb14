from __future__ import annotations

from workbench.views.words.units import count_text, format_bytes, format_percent, format_seconds


def test_every_quantity_has_its_unit() -> None:
    assert format_bytes(33.6e6) == "33.6 MB"
    assert format_seconds(125) == "2 min 5 s"
    assert count_text(1_073_741_824) == "1.07 G"


def test_a_share_needs_a_whole() -> None:
    assert format_percent(1, 0) == "–"
    assert format_percent(-3, 4) == "−75 %"
    assert format_percent(0.25) == "25 %"
