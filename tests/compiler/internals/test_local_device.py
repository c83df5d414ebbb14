from __future__ import annotations

import torch

from workbench.compiler.internals.local_device import cut_to_tf32, round_to_tf32

# measured on an H200, torch 2.11 and Triton 3.6: 1 + n * 2**-13 as a factor, times 1
STEPS = torch.arange(17, dtype=torch.float32)
BY_TRITON = [0] * 8 + [8] * 8 + [16]
BY_LIBRARY = [0] * 5 + [8] * 7 + [16] * 5


def test_factors_have_the_digits_that_a_device_gave_them() -> None:
    factors = 1 + STEPS * 2**-13
    assert ((cut_to_tf32(factors) - 1) * 2**13).tolist() == BY_TRITON
    assert ((round_to_tf32(factors) - 1) * 2**13).tolist() == BY_LIBRARY
    assert torch.equal(cut_to_tf32(-factors), -cut_to_tf32(factors))
    assert torch.equal(round_to_tf32(-factors), -round_to_tf32(factors))


def test_other_types_and_no_numbers_stay() -> None:
    odd = torch.tensor([float("inf"), -float("inf"), 0.0, -0.0])
    assert torch.equal(round_to_tf32(odd), odd)
    assert torch.equal(cut_to_tf32(odd), odd)
    assert round_to_tf32(torch.tensor([float("nan")])).isnan().all()
    half = torch.tensor([1.1], dtype=torch.bfloat16)
    assert round_to_tf32(half) is half
    assert cut_to_tf32(half) is half
