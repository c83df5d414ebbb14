"""A function that asks Python's random module gets new values in a fresh process too."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import torch

import workbench as wb
from tests.fresh_process import run_fresh

SEED = 5


class Jitter(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * random.uniform(1, 2) + random.randint(3, 9)


def two_calls(call: object) -> list[float]:
    random.seed(SEED)
    return [float(call(torch.ones(1))) for _ in range(2)]  # type: ignore[operator]


def test_a_fresh_process_draws_the_same_values_from_the_same_seed(tmp_path: Path) -> None:
    compiled = wb.aot_compile(
        Jitter(), (torch.ones(1),), grad=False, backend="eager", capture="light"
    )
    expected = two_calls(Jitter())
    assert two_calls(compiled) == expected
    assert expected[0] != expected[1]
    compiled.save(tmp_path / "jitter.aot")
    module = "tests.compiler.aot_files.test_random_values"
    found = run_fresh(tmp_path, module, str(tmp_path / "jitter.aot"))
    assert json.loads(found) == expected


if __name__ == "__main__":
    print(json.dumps(two_calls(wb.load(sys.argv[1], module=Jitter(), trust=True))))
