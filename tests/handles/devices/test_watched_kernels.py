"""Whether the kernels of a program can be checked from a view."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.handles.devices import watched_kernels


def test_a_program_for_the_host_says_what_to_compile_for() -> None:
    inputs = (torch.ones(4),)
    compiled = wb.aot_compile(torch.relu, inputs, grad=False)
    assert 'target="h100"' in (watched_kernels.explain_no_check(compiled) or "")
    with pytest.raises(wb.UsageError, match="only if compiled for a virtual GPU"):
        watched_kernels.start_check(compiled)
