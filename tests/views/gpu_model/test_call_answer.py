from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.analysis.forecast.forecast import Forecast, KernelForecast, LineForecast
from workbench.views.gpu_model import call_answer
from workbench.views.static_html.render import write_page

ROWS = (
    KernelForecast("k0", "mm", 2, 80.0, 0.2, kind="product", bound_us=50.0),
    KernelForecast("k1", "triton_add", 1, 20.0, 0.5, kind="mover", bound_us=10.0),
)
TOLD = Forecast("h100", ROWS, 130.0, 110.0, 160.0, 103.5)


def test_the_sentence_has_the_interval_the_kernels_and_their_bound() -> None:
    assert TOLD.sentence == (
        "A call takes 130 µs (110 µs to 160 µs) on h100, modelled. Its 2 kernels take "
        "100 µs ± 19 %; the roofline bound is 60.0 µs. Launch overhead adds 30.0 µs. As one "
        "CUDA graph, it takes 104 µs."
    )


def test_what_was_not_measured_is_said_to_be_so() -> None:
    unknown = tuple(replace(row, error=None) for row in ROWS)
    told = replace(TOLD, rows=unknown, most_us=None, least_us=60.0, call_us=100.0)
    assert told.sentence == (
        "A call takes 100 µs (at least 60.0 µs, error not measured) on h100, modelled. Its 2 "
        "kernels take 100 µs; the roofline bound is 60.0 µs."
    )


def test_a_lower_end_that_is_the_figure_itself_is_not_said_twice() -> None:
    told = replace(TOLD, most_us=None, least_us=130.0)
    assert told.sentence.startswith("A call takes 130 µs (error not measured) on h100")


def test_the_page_names_each_unit_once_and_writes_nothing_as_0(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seen: the title "Own, µs" above cells of "1.57 µs" and "0 s"; "mymodel.py:4" above "2"."""
    lines = (
        LineForecast("m.py", 42, "block(x)", us=100.0, own_us=0.0, bound_us=60.0),
        LineForecast("m.py", 43, "y + 1", us=100.0, own_us=100.0, bound_us=60.0),
    )
    monkeypatch.setattr(Forecast, "lines", lines)
    monkeypatch.setattr(Forecast, "modules", ())
    page = write_page(call_answer.build_forecast(TOLD))
    assert ("Own</th>" in page, ", µs" in page) == (True, False)
    assert ("0 s" in page, ">0</td>" in page) == (False, True)
    assert 'class="word">m.py:42' in page


def test_without_lines_the_text_has_kernels() -> None:
    text = call_answer.format_forecast(TOLD)
    assert "80.0 µs ± 20 %  mm" in text
    assert text.splitlines()[-1].strip().startswith("not included: guards")
