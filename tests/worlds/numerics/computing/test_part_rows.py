"""The cause of a value, for every combination of numbers that eager, program and float64 give."""

from __future__ import annotations

from itertools import product
from math import inf, isnan, nan
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from workbench.worlds.numerics.computing.distances import _measured_row
from workbench.worlds.numerics.findings import causes
from workbench.worlds.numerics.findings.causes import Cause, judge

VALUES = (0.0, 1.0, -1.0, inf, -inf, nan)
BESIDE = 2.0  # an element that all agree on, and that gives a scale


def ask(
    eager: float,
    got: float,
    exact: float,
    late: float | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    beside: bool = True,
    noise: float | None = 0.5,
) -> Cause:
    """The cause for one element; `late` is what holding 16 bits in float32 gives, as eager does."""
    place: Any = SimpleNamespace(
        operators=("aten.sub.Tensor",),
        tf32=lambda: None,
        is_library=False,
        reference="",
        has_floats=True,
        find_scale=lambda: 1.0,
        measure_noise=lambda *_: noise,
        row=lambda cause, **_: cause,
    )
    place.tf32 = None
    more = [BESIDE] if beside else []
    one, two = (torch.tensor([value, *more], dtype=dtype) for value in (got, eager))
    true = torch.tensor([exact, *more], dtype=torch.float64)
    held = torch.tensor([eager if late is None else late, *more])
    low = ("mul",) if dtype is not torch.float32 else ()
    found: Any = _measured_row(place, one, two, true, held, low)
    return found


def alike(a: float, b: float) -> bool:
    return a == b or (isnan(a) and isnan(b))


def kind(value: float) -> float:
    return value if value in (inf, -inf) else nan if isnan(value) else 0.0


TRIPLES = [each for each in product(VALUES, repeat=3) if not alike(each[0], each[1])]


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize(("eager", "got", "exact"), TRIPLES)
def test_what_float64_says_decides(eager: float, got: float, exact: float, beside: bool) -> None:
    name = ask(eager, got, exact, beside=beside).name
    assert name not in (causes.TF32, causes.ELIDED)
    if alike(got, exact):  # the program is right
        assert name != causes.SOMETHING_ELSE
    elif alike(eager, exact) or kind(eager) == kind(exact) != kind(got):
        assert name == causes.SOMETHING_ELSE
    else:  # neither is right: no rounding makes one of the other
        far = kind(got) == kind(eager) == kind(exact)
        assert far or name in (causes.SOMETHING_ELSE, causes.UNKNOWN)


@pytest.mark.parametrize("eager", [inf, -inf, nan])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_overflow_that_the_program_does_not_have_is_an_elided_cast(eager, dtype) -> None:
    found = ask(eager, 30000.0, 30001.0, late=30001.0, dtype=dtype)
    assert (found.name, found.option) == (causes.ELIDED, causes.EMULATE)


def test_a_finite_number_that_nothing_explains_is_no_elided_cast() -> None:
    assert ask(inf, 30000.0, inf, late=inf, dtype=torch.float16).name == causes.SOMETHING_ELSE
    assert ask(1.0, nan, 1.0, late=1.0, dtype=torch.float16).name == causes.SOMETHING_ELSE


def test_what_is_too_large_for_the_type_may_be_infinite() -> None:
    found = ask(65504.0, inf, 65530.0, late=65530.0, dtype=torch.float16)
    assert found.name != causes.SOMETHING_ELSE


def test_at_the_edge_of_a_type_nothing_is_claimed() -> None:
    assert ask(3e38, inf, 3e38, noise=inf).name == causes.UNKNOWN
    assert judge(Cause(causes.SOMETHING_ELSE), 0.0, inf, inf) == "something else"


@pytest.mark.parametrize(
    ("got", "name"),
    [
        (1e-8, causes.ROUNDING),  # a product that is not rounded before it is subtracted
        (6e-8, causes.ROUNDING),
        (1e-4, causes.SOMETHING_ELSE),
        (0.05, causes.SOMETHING_ELSE),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("beside", [True, False])
def test_a_zero_is_held_to_what_it_is_computed_from(got, name, dtype, beside) -> None:
    got = max(got, 6e-8) if dtype is torch.float16 else got  # it holds no smaller number
    assert ask(0.0, got, 0.0, late=0.0, dtype=dtype, beside=beside).name == name
