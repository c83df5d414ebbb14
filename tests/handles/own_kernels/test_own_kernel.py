"""A handle of a kernel that a user wrote."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from tests.own_kernels.kernels import add


def test_a_handle_knows_its_call_and_its_gpu() -> None:
    x = torch.ones(8)
    made = wb.kernel(add, x, x, x, 8, grid=(1,), target="a100", BLOCK=8)
    assert (made.name, made.target) == ("add", "a100")
    with pytest.raises(wb.UsageError, match="h10"):
        wb.kernel(add, x, x, x, 8, grid=(1,), target="h10", BLOCK=8)
