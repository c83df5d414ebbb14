"""A mask that is left out is seen though every size of the call is a multiple of its block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tests.worlds.own_kernels.programs import size_kernels as sizes
from workbench.compiler.kernel_checks.kernel_checking import Checked, CheckQuestion, check_call
from workbench.compiler.kernels.kernel_call import KernelCall


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def unset(*shape: int) -> Tensor:
    return torch.full(shape, 7.0)


@dataclass(frozen=True)
class Given:
    """A call of a kernel with `masks` bits, and what it gives."""

    kernel: Any
    args: tuple[Any, ...]
    grid: tuple[int, ...]
    meta: dict[str, int]
    reference: Callable[..., Any]
    masks: int
    derived: str
    writes: str = "out"


TILES = {"BM": 16, "BN": 16}
CALLS: dict[str, Given] = {
    "matmul": Given(
        sizes.matmul,
        (draw(32, 16), draw(16, 48), unset(32, 48), 32, 48, 16, 16, 48, 48),
        (2, 3),
        TILES | {"BK": 16},
        lambda a, b, c, *_: a @ b,
        3,
        "M = 31, N = 47, K = 15",
        "c",
    ),
    "square matmul": Given(
        sizes.matmul,
        (draw(32, 32), draw(32, 32), unset(32, 32), 32, 32, 32, 32, 32, 32),
        (2, 2),
        TILES | {"BK": 16},
        lambda a, b, c, *_: a @ b,
        3,
        "M = 31, N = 31, K = 31",
        "c",
    ),
    "tiles": Given(
        sizes.add_tiles,
        (draw(32, 48), draw(32, 48), unset(32, 48), 32, 48),
        (2, 3),
        TILES,
        lambda x, y, *_: x + y,
        2,
        "M = 31, N = 47",
    ),
    "transpose": Given(
        sizes.transpose,
        (draw(32, 48), unset(48, 32), 32, 48),
        (2, 3),
        TILES,
        lambda x, *_: x.t(),
        2,
        "M = 31, N = 47",
    ),
    "softmax": Given(
        sizes.softmax,
        (draw(5, 64), unset(5, 64), 64, 64),
        (5,),
        {"BLOCK": 64},
        lambda x, *_: x.softmax(-1),
        1,
        "n_cols = 63",
    ),
    "layer norm": Given(
        sizes.layer_norm,
        (draw(5, 64), draw(64), draw(64), unset(5, 64), 64, 64, 1e-5),
        (5,),
        {"BLOCK": 32},
        lambda x, w, b, out, stride, n, eps: F.layer_norm(x, (n,), w, b, eps),
        2,
        "N = 63",
    ),
    "attention": Given(
        sizes.attend,
        (draw(32, 16), draw(32, 16), draw(32, 16), unset(32, 16), 32, 0.3),
        (2,),
        TILES | {"D": 16},
        lambda q, k, v, out, n, scale: (q @ k.t() * scale).softmax(-1) @ v,
        2,
        "n_ctx = 31",
    ),
    "split sums": Given(
        sizes.partial_sums,
        (draw(16, 48), torch.zeros(16), 16, 48),
        (3,),
        TILES,
        lambda x, *_: x.sum(-1),
        2,
        "M = 15, N = 47",
        "parts",
    ),
    "rows and blocks": Given(
        sizes.scale_rows,
        (draw(3, 64), draw(3), unset(3, 64), 64),
        (3, 2),
        {"BLOCK": 32},
        lambda x, by, *_: x * by[:, None],
        1,
        "N = 63",
    ),
    "ties": Given(
        sizes.argmax,
        (draw(5, 64), torch.full((5,), 7), 64),
        (5,),
        {"BLOCK": 64},
        lambda x, *_: x.argmax(-1),
        1,
        "n = 63",
    ),
    "sums so far": Given(
        sizes.cumulate,
        (draw(5, 64), unset(5, 64), 64),
        (5,),
        {"BLOCK": 64},
        lambda x, *_: x.cumsum(-1),
        1,
        "n = 63",
    ),
}
QUICK = ("tiles", "softmax")
EACH = [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow, id=n) for n in CALLS]
LACKING = [
    pytest.param(n, bit, marks=() if n in QUICK else pytest.mark.slow, id=f"{n}, mask {bit}")
    for n, given in CALLS.items()
    for bit in range(given.masks)
]


def check(given: Given, masks: int, *, derive: bool = True) -> Checked:
    meta = {**given.meta, "MASKS": masks}
    call = KernelCall.of(given.kernel, given.args, given.grid, meta)
    asked = CheckQuestion(given.reference, given.writes, cases=() if derive else None)
    return check_call(call, asked)


@pytest.mark.parametrize("name", EACH)
def test_a_right_kernel_passes_with_sizes_that_are_no_multiples(name: str) -> None:
    checked = check(CALLS[name], 7)
    assert not checked.findings, checked.findings
    assert [case.verdict for case in checked.cases] == ["passed", "passed"], checked.cases
    assert checked.cases[1].case == CALLS[name].derived
    assert not any("missing mask" in note for note in checked.cases[0].notes)


@pytest.mark.parametrize(("name", "bit"), LACKING)
def test_a_mask_that_is_left_out_is_found(name: str, bit: int) -> None:
    given = CALLS[name]
    checked = check(given, 7 & ~(1 << bit))
    assert [case.verdict for case in checked.cases] == ["passed", "failed"], checked.cases
    assert {row.case for row in checked.findings} == {given.derived}
    assert not check(given, 7 & ~(1 << bit), derive=False).findings


def test_there_are_30_kernels_with_ties_and_odd_sizes() -> None:
    """With the sixteen of `test_ties`."""
    assert 16 + len(EACH) + len(LACKING) >= 40


def test_a_reference_that_holds_its_own_tensors_says_nothing_of_other_sizes() -> None:
    """It gives sums of all columns, where the call has one less."""
    given = CALLS["split sums"]
    fixed = given.args[0].sum(-1)
    (case,) = check(Given(**{**vars(given), "reference": lambda *_: fixed}), 7).cases
    assert case.verdict == "passed"
    assert "could not be checked" in case.notes[-1]
