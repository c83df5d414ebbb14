"""The building of each kernel is a phase under the kernel's name."""

from __future__ import annotations

import random

import torch

import workbench as wb


def test_a_kernel_that_is_built_has_a_bar_of_its_name() -> None:
    factor = 1.0 + random.SystemRandom().random()  # no kernel of an earlier run is the same

    def softmaxed(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * factor, -1)

    report = wb.aot_compile(softmaxed, (torch.rand(8, 8),)).report
    (kernel,) = (row.name for row in report.kernels if row.language == "cpp")
    built = [row for row in report.phases if row.name == f"build: {kernel}"]
    assert len(built) == 1
    inside = [row for row in report.phases if row.thread == built[0].thread]
    assert "compile_file" in {row.name for row in inside}
