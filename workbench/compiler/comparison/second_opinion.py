"""What differs, with the opinion of double precision: rounding, overflow, or more than that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, replace
from math import inf
from typing import Any

import torch

from workbench.compiler.call_state.reachable import same_tensor
from workbench.compiler.comparison.double_precision import EIGHT_BITS, Dice
from workbench.compiler.comparison.held_values import (
    HALVES,
    Blunt,
    Coarse,
    Grown,
    Uneven,
    is_close,
)
from workbench.compiler.comparison.output_comparison import Comparison, compare_tensors
from workbench.compiler.comparison.roundings import (
    BESIDE_TIE,
    ROUNDINGS,
    SPREADS,
    explain_unrounded,
    find_unrounded,
    is_float,
    measure_digits,
    measure_size,
    measure_slices,
    widen,
)
from workbench.number_text import join_words, number_text, plural

Samples = Callable[[Sequence[Dice]], Sequence[torch.Tensor]]
"""The value in double precision several times more, each time with other roundings."""
_OF_VALUES = tuple(Dice(seed) for seed in (1, 2, 3))
_OF_DECISIONS = tuple(Dice(seed, digits=8.0, decisions=True) for seed in range(1, 17))
"""Generated code sums in another order, a few digits off: what it decides otherwise is next to a
tie. Where a third of the runs decides like it, sixteen miss it once in 650 times."""
_OF_STEPS = tuple(Dice(seed, digits=8.0, steps=True) for seed in range(1, 7))
"""Six: of a million elements one may lie close to the spread of three by chance."""
_OF_ORDER = tuple(Dice(seed, orders=True) for seed in range(1, 9))
"""Eight: of three equal elements one keeps its place in all of them once in 6,500 times."""
_OPEN_ORDER = (
    "it depends on the order of equal elements, which torch.sort and torch.topk do not define; "
    "torch.sort(..., stable=True) does"
)
_FIRST_STEPS = _OF_STEPS[:2]
"""By which most right programs are known."""


_NOISE = 0.1
"""A value whose error in eager is this part of it, in the mean, has no digit that says anything."""


COARSER = 2.0
"""How many times further than eager, in the mean, a value of 16 bits may be from the exact one:
generated code keeps sums and intermediates in float32, so that it is nearer in most programs."""


def settle_difference(
    row: Comparison,
    pair: tuple[str, Any, Any],
    wide: Any,
    samples: Samples = lambda dice: (),
    *,
    is_foreign: bool = False,
) -> Comparison:
    """A second opinion on a value that differs: the original in double precision.

    Where eager is itself off by as much, as a sum is whose terms cancel, the difference is one of
    rounding. With `samples` each element is held to what roundings do to it, so that an element
    that none reaches is not excused by one that they decide. A whole number, as of a quantisation
    or an argmax, may be another where one of the samples decides so, too. What differs only where
    the order of equal elements decides is not checked. `is_foreign` says that it depends on what
    only counts as exact.
    """
    settled = _settle(row, pair, wide, samples, is_foreign=is_foreign)
    if settled.verdict == "failed" and _is_of_open_order(settled, pair, samples):
        return replace(settled, verdict="not checked", reason=_OPEN_ORDER)
    return settled


def _settle(
    row: Comparison, pair: tuple[str, Any, Any], wide: Any, samples: Samples, *, is_foreign: bool
) -> Comparison:
    """See `settle_difference`: the opinion of double precision and of other roundings."""
    if isinstance(pair[1], torch.Tensor) and not is_float(pair[1]):
        return _settle_decisions(row, pair[1], pair[2], samples)
    if isinstance(row, Coarse):
        return _settle_coarse(row, pair, wide, samples, is_foreign=is_foreign)
    if isinstance(row, Uneven):
        return _settle_uneven(row, pair, wide, samples, is_foreign=is_foreign)
    if isinstance(row, Grown):
        return _settle_grown(row, pair, wide, samples, is_foreign=is_foreign)
    if not isinstance(row, Blunt):
        return _settled(row, pair, wide, samples)
    loose, left = replace(_plain(row), atol=row.loose_atol), pair[1]
    is_known = isinstance(wide, torch.Tensor) and wide.shape == left.shape
    if is_known and _vanishes(left, wide):
        return replace(
            loose,
            verdict="passed",
            reason=("it is zero in exact arithmetic, so only rounding error is left"),
        )
    settled = _settled(row, pair, wide, samples)
    if settled.verdict == "failed" and (is_foreign or not is_known):
        reason = (
            f"it differs by up to {number_text(row.max_abs_error, 'difference')}, which is large "
            "for its size; without an exact float64 value, rounding cannot be ruled out"
        )
        return replace(loose, verdict="not checked", reason=reason)
    return _plain(settled)


def _settle_grown(
    row: Grown, pair: tuple[str, Any, Any], wide: Any, samples: Samples, *, is_foreign: bool
) -> Comparison:
    left = pair[1]
    is_known = isinstance(wide, torch.Tensor) and wide.shape == left.shape and not is_foreign
    settled = _settled(_plain(row), pair, wide, samples) if is_known else None
    if settled is not None and (settled.verdict == "failed" or left.dtype not in HALVES):
        return settled
    passed = replace(_plain(row), atol=row.loose_atol, verdict="passed")
    coarse = Coarse(**vars(passed) | {"verdict": "failed"})
    return _settle_coarse(coarse, pair, wide, samples) if left.dtype in HALVES else passed


def _settle_uneven(
    row: Uneven, pair: tuple[str, Any, Any], wide: Any, samples: Samples, *, is_foreign: bool
) -> Comparison:
    """Whether roundings decide what is much off beside the size of its row or column."""
    passed = replace(_plain(row), verdict="passed")
    _, left, right = pair
    is_known = isinstance(wide, torch.Tensor) and wide.shape == left.shape and is_float(wide)
    if is_foreign or not is_known or left.shape != right.shape:
        return passed
    exact, eager, own = widen(wide), widen(left), widen(right)
    runs = [widen(one.reshape(left.shape)) for one in samples(_OF_VALUES)]
    errors, sizes = measure_slices(eager - exact), measure_slices(eager)
    if not runs or errors is None or sizes is None:
        return passed
    excused = is_close(row, left, right) | (errors >= _NOISE * sizes) | ~exact.isfinite()
    own_error, its_error = ((one - exact).abs()[~excused] for one in (eager, own))
    spread = _spread([one[~excused] for one in runs], exact[~excused], own_error)
    if spread is None or bool((its_error <= ROUNDINGS * own_error.maximum(spread)).all()):
        return passed
    reason = (
        f"it differs by {number_text(float(its_error.max()), 'difference')} from the float64 value "
        "in a small row or column, more than rounding in the program explains"
    )
    return replace(passed, verdict="failed", reason=reason)


def _settle_coarse(
    row: Comparison,
    pair: tuple[str, Any, Any],
    wide: Any,
    samples: Samples,
    *,
    is_foreign: bool = False,
) -> Comparison:
    """Whether a value of 16 bits is as near to the exact one as roundings of the program allow.

    Element by element where nothing but the last rounding, or roundings that are known, reach it,
    and in the mean. Without a value in double precision the tolerance of the dtype decides.
    """
    passed = Comparison(**vars(row) | {"verdict": "passed"})
    _, left, right = pair
    if not isinstance(wide, torch.Tensor) or not isinstance(left, torch.Tensor):
        return passed
    if wide.shape != left.shape or not is_float(wide):
        return passed
    exact, eager, own = widen(wide), widen(left), widen(right)
    finite = exact.isfinite() & eager.isfinite() & own.isfinite()
    exact, eager, own = (part[finite] for part in (exact, eager, own))
    beyond = None if is_foreign else find_unrounded(own, eager, exact, left.dtype)
    if beyond is not None:

        def is_explained(dice: Sequence[Dice]) -> bool:
            steps = [widen(one.reshape(left.shape))[finite] for one in samples(dice)]
            return not steps or explain_unrounded(beyond, steps, exact, left.dtype)

        if not is_explained(_FIRST_STEPS) and not is_explained(_OF_STEPS):
            reason = (
                "its error against float64 is larger than rounding in the program and in the "
                "result explains"
            )
            return replace(passed, verdict="failed", reason=reason)
    rounding = measure_digits(exact, left.dtype) / 12**0.5
    off = measure_size(own - exact)
    allowed = max(measure_size(eager - exact), measure_size(rounding))
    if off <= COARSER * allowed:
        return passed
    runs = [widen(one.reshape(left.shape))[finite] for one in samples(_OF_VALUES)]
    spread = [measure_size((one - exact).nan_to_num(inf, inf, inf)) for one in runs]
    if off <= COARSER * max((*spread, allowed)):
        return passed
    reason = (
        f"its mean error against float64 is {number_text(off, 'difference')} (eager: "
        f"{number_text(allowed, 'difference')}), more than rounding in the program explains"
    )
    return replace(passed, verdict="failed", reason=reason)


def _is_of_open_order(row: Comparison, pair: tuple[str, Any, Any], samples: Samples) -> bool:
    """Whether every element that differs changes with the order that sort gives equal elements."""
    _, left, right = pair
    if not (isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor)):
        return False
    if (left.shape, left.dtype) != (right.shape, right.dtype):
        return False
    first = samples(_OF_ORDER[:1])  # most programs sort nothing: one run says so
    if not first or first[0].dtype != left.dtype:
        return False
    if same_tensor(left, first[0].reshape(left.shape)):
        return False
    runs = [one.reshape(left.shape) for one in samples(_OF_ORDER)]
    is_open = torch.stack([one != left for one in runs]).any(0)
    differs = left != right
    if is_float(left):
        a, b = (one.to(torch.promote_types(one.dtype, torch.float64)) for one in (left, right))
        differs = ~torch.isclose(b, a, row.rtol, row.atol, equal_nan=True)
    return bool(differs.any()) and not bool((differs & ~is_open).any())


def _settle_decisions(row: Comparison, left: Any, right: Any, samples: Samples) -> Comparison:
    """Whole numbers that differ, where roundings decide them: no more of them than they change."""
    if not isinstance(right, torch.Tensor) or left.shape != right.shape:
        return row
    if left.dtype != right.dtype:
        return row
    runs = [one.reshape(left.shape) for one in samples(_OF_DECISIONS)]
    if not runs:
        return row
    others = left != right
    is_decided = torch.stack([one == right for one in runs]).any(0)
    count, changed = int(others.sum()), max(int((one != left).sum()) for one in runs)
    if bool((others & ~is_decided).any()) or count > changed:
        return row
    reason = (
        f"within rounding: rounding decides {plural(count, 'element')} of "
        f"{number_text(left.numel(), 'whole')}"
    )
    return replace(row, verdict="passed", reason=reason)


def _vanishes(left: torch.Tensor, wide: torch.Tensor) -> bool:
    exact, eager = widen(wide), widen(left)
    finite = exact.isfinite() & eager.isfinite()
    return measure_size((eager - exact)[finite]) >= _NOISE * measure_size(eager[finite])


def _plain(row: Comparison) -> Comparison:
    return Comparison(**{field.name: getattr(row, field.name) for field in fields(Comparison)})


def _settled(
    row: Comparison, pair: tuple[str, Any, Any], wide: Any, samples: Samples
) -> Comparison:
    _, left, right = pair
    tensors = (left, right, wide)
    if not all(isinstance(part, torch.Tensor) and is_float(part) for part in tensors):
        return row
    if (left.shape, left.dtype) != (right.shape, right.dtype) or left.shape != wide.shape:
        return row
    dtype = left.dtype
    left, right, wide = (widen(part) for part in tensors)
    finite = left.isfinite() & wide.isfinite()
    if not finite.any():
        return row
    if not torch.allclose(left[~finite], right[~finite], 0.0, 0.0, equal_nan=True):
        return row  # an infinity or a NaN is no rounding
    own, its = ((part - wide)[finite].abs() for part in (left, right))
    is_blunt = isinstance(row, Blunt)
    if its.isnan().any() or (not is_blunt and its.max() > ROUNDINGS * own.max()):
        return row  # NaN is no rounding either
    if dtype in EIGHT_BITS and _is_coarser(own, its, measure_digits(wide[finite], dtype)):
        return row
    near = row.atol + row.rtol * left[finite].abs()
    close = (right - left)[finite].abs() <= near
    spread = _spread([widen(one)[finite] for one in samples(_OF_VALUES)], wide[finite], own)
    if spread is None and its.max() > ROUNDINGS * own.max():
        return row
    if spread is not None and not bool((close | (its <= ROUNDINGS * own.maximum(spread))).all()):
        return row  # by chance eager may be nearly exact in what few elements a small value has
    reason = (
        f"within rounding: error against float64 is {number_text(float(own.max()), 'difference')} "
        f"in eager, {number_text(float(its.max()), 'difference')} here"
    )
    return replace(_plain(row), verdict="passed", reason=reason)


def _is_coarser(own: torch.Tensor, its: torch.Tensor, digits: torch.Tensor) -> bool:
    """Whether errors are more than one rounding to eight bits, and eager's are not.

    A digit is up to an eighth of the value: without this, four of them would count as rounding.
    """
    before = float((own / digits).max()) - 0.5  # what eager was off by when it rounded
    return float((its / digits).max()) > 0.5 + max(BESIDE_TIE, ROUNDINGS * before)


def _spread(
    samples: Sequence[torch.Tensor], wide: torch.Tensor, own: torch.Tensor
) -> torch.Tensor | None:
    """How far roundings move each element, at least as far as eager is off in the mean.

    An infinity or a NaN in a sample says that they decide all of the element.
    """
    if not samples:
        return None
    errors = torch.stack([(one - wide).square() for one in samples]).mean(0).sqrt()
    errors = errors.nan_to_num(inf, inf)
    finite = errors.isfinite()
    sizes = [float(part[finite].square().mean().sqrt()) for part in (own, errors)]
    return SPREADS * max(1.0, sizes[0] / sizes[1] if sizes[1] else 1.0) * errors


def overflows_alone(eager: Any, got: Any, exact: Any) -> bool:
    """Whether eager has NaN or infinity where float64 has a number, and the program has that."""
    sides = (eager, got, exact)
    if not all(isinstance(side, torch.Tensor) and side.is_floating_point() for side in sides):
        return False
    if not eager.shape == got.shape == exact.shape:
        return False
    rounded = exact.to(got.dtype)
    # `isfinite` raises for float8_e4m3fn in torch 2.13; 2.15 has it
    lost = ~widen(eager).isfinite() & widen(rounded).isfinite()
    return bool(lost.any()) and compare_tensors("", rounded, got, None, None).ok is True


def say_overflow(leaves: Collection[str]) -> str:
    """Two sentences: that no stage is wrong, and how to get what eager gives."""
    return (
        f"No stage is wrong: eager overflows in {join_words(list(leaves))}. The program agrees "
        "with float64, because it keeps values in float32 that eager rounds to 16 bits. "
        "options={'emulate_precision_casts': True} rounds as eager does."
    )
