from __future__ import annotations

import numerics_cases as cases


def test_a_bar_for_each_stage_beside_eager_and_the_noise() -> None:
    x, w = cases.draw(64, 256, dtype=cases.BF), cases.draw(256, dtype=cases.BF, seed=1)
    figure = cases.look(cases.softmax_chain, x, w).plot()
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "decompositions",
        "passes",
        "kernels",
    ]
    assert len(axes.patches) == 3
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["eager's error for the same value", "noise floor for the same value"]
    assert axes.get_xscale() == "log"
    words = [text.get_text() for text in axes.texts]
    assert words[0] == "no difference"
    assert words[2] == "4 values, largest sum_1"


def test_what_is_equal_is_drawn_too() -> None:
    figure = cases.look(cases.pointwise, cases.draw(8, 8), cases.draw(8, 8, seed=1)).plot()
    assert [text.get_text() for text in figure.axes[0].texts] == ["no difference"] * 3
