"""A distribution in a model is captured, in a process that has not used torch.compile before."""

from __future__ import annotations

from pathlib import Path

import torch

import workbench as wb
from tests.fresh_process import run_fresh


class Entropy(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.distributions.Categorical(logits=x).entropy()


def compile_it() -> None:
    x = torch.randn(3, 4)
    compiled = wb.aot_compile(Entropy(), (x,), grad=False, backend="eager", capture="light")
    torch.testing.assert_close(compiled(x), Entropy()(x))
    print("captured")


def test_a_distribution_is_captured_first_thing_in_a_process(tmp_path: Path) -> None:
    module = "tests.compiler.pipeline.test_distributions"
    assert run_fresh(tmp_path, module).splitlines()[-1] == "captured"


if __name__ == "__main__":
    compile_it()
