"""A process that has not asked yet loads what was compiled by one that had."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import fresh_process
import pytest
import torch

import workbench as wb
from tests import late_samples as samples

FEW = (samples.by_method, samples.by_slot, samples.by_helper, samples.by_default)
REST = tuple(function for function in samples.ALL if function not in FEW[1:])


@pytest.mark.parametrize(
    "functions", [FEW, pytest.param(REST, marks=pytest.mark.slow)], ids=["few", "rest"]
)
def test_what_is_set_when_first_asked_is_asked_for(
    functions: tuple[Callable[[torch.Tensor], torch.Tensor], ...], tmp_path: Path
) -> None:
    for function in (*functions, samples.by_what_is_other_here):
        function(samples.X)
        compiled = wb.aot_compile(function, (samples.X,), backend="eager", grad=False)
        compiled.save(tmp_path / f"{function.__name__}.aot")
    found = json.loads(fresh_process.run_fresh(tmp_path, "tests.late_samples", str(tmp_path)))
    changed = found.pop("changed: by_method"), found.pop("changed: by_what_is_other_here")
    for said, name in zip(changed, ("FLAGS._ok", "OTHER.available"), strict=True):
        assert f"{name} (global of tests.late_samples): compiled with True, now False" in said
    assert found == {function.__name__: True for function in functions}
