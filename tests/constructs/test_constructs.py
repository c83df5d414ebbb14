"""Whatever a program is made of: right, or refused by one of our errors. Nothing else happens."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.constructs.programs import program
from tests.constructs.running import Runs, is_rounding, results

SAMPLE, KERNELS = 8, range(1, 2)
ALL, ALL_KERNELS = 2000, 200


def check(seeds: range, folder: Path, *, backend: str, package: bool) -> Counter[str]:
    """Run every program; fails with the seed and the source of those that are wrong."""
    counts: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        found = results(program(seed), folder, backend=backend, package=package)
        counts.update(f"{one.way} {one.verdict}" for one in found)
        wrong += [
            f"seed {seed}, {one.way}: {one.words}\n{program(seed).source.partition('Counter')[2]}"
            for one in found
            if one.verdict == "wrong" or (not one.words and one.verdict == "refused")
        ]
    assert not wrong, f"{len(wrong)} of {len(seeds)}:\n" + "\n\n".join(wrong)
    return counts


def test_a_sample_without_kernels(tmp_path: Path) -> None:
    counts = check(range(SAMPLE), tmp_path, backend="aot_eager", package=False)
    assert counts["live right"] > SAMPLE / 2
    assert counts["loaded right"] > SAMPLE / 2


def test_a_sample_with_kernels_and_packages(tmp_path: Path) -> None:
    counts = check(KERNELS, tmp_path, backend="inductor", package=True)
    assert counts["live right"] >= 1


@pytest.mark.slow
def test_all_without_kernels(tmp_path: Path) -> None:
    print(check(range(ALL), tmp_path, backend="aot_eager", package=False))


@pytest.mark.slow
def test_many_with_kernels_and_packages(tmp_path: Path) -> None:
    print(check(range(ALL_KERNELS), tmp_path, backend="inductor", package=True))


def test_a_difference_of_large_numbers_is_compared_in_double_precision() -> None:
    module = ModuleType("cancelling")
    x = torch.full((4,), 1000.1)
    module.make = lambda: lambda x: x * 3 - 3000  # type: ignore[attr-defined]
    module.inputs = lambda: (x,)  # type: ignore[attr-defined]
    eager = x * 3 - 3000
    for found, reference, is_right in (
        (eager * (1 - 2e-4), eager, True),
        (eager + 0.01, eager, False),
        (eager + 0.01, eager + 0.02, False),  # eager itself is far off: it tells nothing
        (eager, eager * torch.nan, False),
        (eager[:1], eager, False),
        ([eager], eager, False),
    ):
        runs = [Runs((each, each), ((x,), (x,))) for each in (found, reference)]
        assert is_rounding(*runs, module) is is_right
