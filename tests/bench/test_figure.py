from tests.bench.figure import Figure, interleaved, ratio


def test_a_figure_passes_up_to_its_reach():
    assert Figure("x", 1, 2, 0.5, 0.5, "ratio").passed
    assert not Figure("x", 1, 2, 0.6, 0.5, "ratio").passed
    assert Figure("shown beside another", 1, 2, 9, None, "ratio").passed


def test_a_ratio_is_the_median_of_the_pairs():
    figure = ratio("x", [1.0, 2.0, 30.0], [10.0, 10.0, 10.0], reach=0.35)
    assert figure.value == 0.2
    assert figure.ours == 2.0
    assert figure.note == "3 pairs, 0.10 to 3.00"
    assert "| pass | 3 pairs" in figure.row()


def test_pairs_are_interleaved_and_change_order():
    seen = []
    ours, other = interleaved(
        lambda: seen.append("ours") or 1.0, lambda: seen.append("other") or 2.0, 3
    )
    assert (ours, other) == ([1.0] * 3, [2.0] * 3)
    assert seen == ["other", "ours", "ours", "other", "other", "ours"]
