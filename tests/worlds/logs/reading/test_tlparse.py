"""The counts of a report are those that the program of the torch project finds in the same log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from tests import tlparse_counts

pytestmark = pytest.mark.skipif(
    tlparse_counts.program() is None, reason="tlparse is not installed (extra: test)"
)


@pytest.mark.parametrize("shape", ["recompiles", "failed", "ranks", "gpu"])
def test_counts_equal_those_of_tlparse(
    shape: str, log: Callable[[str], Path], tmp_path: Path
) -> None:
    path = log(shape)
    output = tlparse_counts.run(path, tmp_path / "tlparse", several=shape == "ranks")
    report = wb.read_trace(path)
    assert tlparse_counts.counts(output) == tlparse_counts.Counts(
        graphs=len(report.graphs),
        breaks=sum(row.count for row in report.breaks),
        recompiles=len({row.compile_id for row in report.recompiles}),
        kernels=len(report.kernels),
    )
