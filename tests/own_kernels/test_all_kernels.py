"""Every kernel of `kernels.py`."""

from __future__ import annotations

import torch
import triton

from tests.own_kernels.kernels import add
from workbench.compiler.kernels.kernel_call import KernelCall


def test_a_call_is_made_of_every_kernel() -> None:
    x = torch.ones(8)
    assert KernelCall.of(add, (x, x, x, 8), (1,), {"BLOCK": 8}).name == "add"
    assert isinstance(add, triton.JITFunction)
