"""Lines through two depths, against programs of any depth made by the same rule."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest

import workbench as wb
from workbench.analysis.layers.fit import MISSING_OF_STEP, Depth, Fit

WEIGHT, HEAD, LOOKUP = 100, 700, 900


def depth(layers: int, saved: int, gradient: int, batch: int = 1) -> Depth:
    """A step whose layers keep `saved` and give `gradient`; head and embedding need more."""
    rows: list[dict[str, int]] = []

    def live(temporary: int = 0) -> None:
        rows.append(
            {
                "weights": WEIGHT * layers,
                "saved for backward": kept,
                "gradient": made,
                "temporary": temporary,
            }
        )

    kept = made = 0
    for _ in range(layers):
        kept += saved * batch
        live(30 * batch)
        live(50 * batch)
    live(HEAD * batch)
    first = len(rows)
    live(HEAD * batch)
    for _ in range(layers):
        live(40 * batch)
        kept -= saved * batch
        made += gradient
        live(20 * batch)
    live(LOOKUP)
    kinds = {kind: [row[kind] for row in rows] for kind in rows[0]}
    return Depth(layers, kinds, len(rows), first, 8 * WEIGHT * layers, saved * layers * batch, 0.0)


def fit(layers: int, saved: int, gradient: int, capacity: int = 10**6) -> Fit:
    depths = (depth(2, saved, gradient), depth(4, saved, gradient))
    return Fit(
        "Model",
        "that",
        capacity,
        layers,
        True,
        "adamw (float32)",
        (1, 8),
        depths,
        MISSING_OF_STEP,
        lambda what: (depth(2, saved, gradient, batch=2),),
    )


def peak(layers: int, saved: int, gradient: int, batch: int = 1) -> int:
    made = depth(layers, saved, gradient, batch)
    live = [sum(sizes) for sizes in zip(*made.kinds.values(), strict=True)]
    return max(live) + made.optimizer


@pytest.mark.parametrize(("saved", "gradient"), [(10, 100), (100, 10), (300, 310), (310, 300)])
@pytest.mark.parametrize("layers", [3, 8, 32])
def test_the_peak_of_any_depth_is_on_the_lines_of_its_place(
    layers: int, saved: int, gradient: int
) -> None:
    found = fit(layers, saved, gradient)
    assert found.peak == peak(layers, saved, gradient)
    assert found.saved == saved * layers
    assert sum(row.bytes for row in found.parts) == found.peak


@pytest.mark.parametrize(("saved", "gradient"), [(10, 100), (100, 10), (300, 310)])
def test_the_largest_batch_is_the_last_that_fits(saved: int, gradient: int) -> None:
    capacity = 60_000
    batch = fit(32, saved, gradient, capacity).largest_batch()
    assert peak(32, saved, gradient, batch) <= capacity < peak(32, saved, gradient, batch + 1)


def test_twice_the_batch_of_each_depth_tells_what_every_layer_holds_once() -> None:
    def gathered(layers: int, batch: int = 1) -> Depth:
        made = depth(layers, 100, 10, batch)
        return replace(made, kinds={**made.kinds, "gathered": [50 * layers] * made.steps})

    both = tuple(gathered(count, 2) for count in (2, 4))
    made = replace(fit(32, 100, 10), depths=(gathered(2), gathered(4)))
    exact = replace(made, doubled=lambda what: both)
    largest = exact.largest_batch()
    assert peak(32, 100, 10, largest) + 50 * 32 <= exact.capacity
    assert peak(32, 100, 10, largest + 1) + 50 * 32 > exact.capacity
    assert replace(made, doubled=lambda what: both[:1]).largest_batch() < largest  # as if it grew


def test_nothing_fits_where_the_weights_do_not() -> None:
    found = fit(32, 10, 100, capacity=20_000)
    assert not found.fits
    assert found.largest_batch() == 0
    assert "Model with 32 layers does not fit into that. A training step" in found.sentence


def test_a_call_of_more_layers_is_on_the_line_of_modelled_times() -> None:
    found = fit(32, 10, 100)
    assert found.call_us is None
    assert "modelled" not in found.sentence
    timed = [
        replace(each, call_us=(100.0 * n, 80.0 * n, 130.0 * n))
        for n, each in zip((2, 4), found.depths, strict=True)
    ]
    told = replace(found, depths=tuple(timed))
    assert told.call_us == (3200.0, 2560.0, 4160.0)
    assert told.sentence.endswith(
        " The forward and backward passes take 3.20 ms (2.56 ms to 4.16 ms), modelled."
    )
    strange = replace(told, depths=(replace(timed[0], call_us=(200.0, 160.0, None)), timed[1]))
    assert strange.call_us == (3200.0, 2560.0, None)
    assert strange.sentence.endswith("(2.56 ms to ?), modelled, error not measured.")


def test_temporaries_that_grow_with_the_depth_are_noticed() -> None:
    assert not fit(32, 300, 310).has_growing_temporaries
    shallow, deep = depth(2, 300, 310), depth(4, 300, 310)
    more = [size + 500 for size in deep.kinds["temporary"]]
    placed = replace(deep, kinds={**deep.kinds, "temporary": more})
    assert replace(fit(32, 300, 310), depths=(shallow, placed)).has_growing_temporaries


def test_what_one_depth_calls_otherwise_is_not_extended_as_growth() -> None:
    shallow, deep = (
        replace(made, kinds={**made.kinds, "library result": [0] * made.steps})
        for made in (depth(2, 300, 310), depth(4, 300, 310))
    )
    renamed = {"temporary": [0] * deep.steps, "library result": deep.kinds["temporary"]}
    placed = replace(deep, kinds={**deep.kinds, **renamed})
    told = replace(fit(32, 300, 310), depths=(shallow, placed))
    assert told.peak == replace(told, depths=(shallow, deep)).peak == peak(32, 300, 310)


def test_an_answer_is_its_own_copy_and_says_what_to_keep_of_it() -> None:
    """It compiles a larger batch when it is asked for one, which no pickle can."""
    found = fit(8, 10, 5)
    assert copy.copy(found) is found
    assert copy.deepcopy([found])[0] is found
    with pytest.raises(wb.UsageError, match=r"Model \(Fit\) lives in this process.*\.sentence"):
        pickle.dumps(found)
