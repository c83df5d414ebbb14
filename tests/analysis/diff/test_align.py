from __future__ import annotations

from workbench.analysis.diff.align import align, align_by


def test_equal_items_are_paired_in_order() -> None:
    assert list(align("abcde", "abXde")) == [(0, 0), (1, 1), (3, 3), (4, 4)]
    assert list(align("", "ab")) == []


def test_a_coarse_label_fills_the_gaps_of_a_fine_one() -> None:
    fine = (["a1", "b1", "c1"], ["a1", "b2", "c1"])
    coarse = (["a", "b", "c"], ["a", "b", "c"])
    assert align_by([fine[0], coarse[0]], [fine[1], coarse[1]]) == {0: 0, 1: 1, 2: 2}


def test_a_coarse_label_does_not_cross_a_finer_pair() -> None:
    fine = (["x1", "m", "y"], ["y", "m", "x2"])
    coarse = (["x", "m", "y"], ["y", "m", "x"])
    assert align_by([fine[0], coarse[0]], [fine[1], coarse[1]]) == {1: 1, 2: 0}  # y was moved


def test_long_repetitions_are_aligned_quickly() -> None:
    layer = [f"op{n}" for n in range(40)]
    assert len(list(align(layer * 24, layer * 11 + ["new"] + layer * 13))) == 24 * 40
