"""A module whose class is made while the program runs: compiled, saved, loaded like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch.nn.utils.parametrize import remove_parametrizations

import workbench as wb

X = torch.ones(3, 4)


@pytest.mark.parametrize("wrap", [weight_norm, spectral_norm])
@pytest.mark.parametrize("training", [pytest.param(False, marks=pytest.mark.slow), True])
def test_it_is_compiled_and_loaded(
    wrap: Callable[[nn.Module], nn.Module], training: bool, tmp_path: Path
) -> None:
    for module in (wrap(nn.Linear(4, 4)), nn.Sequential(wrap(nn.Linear(4, 4)), nn.ReLU())):
        compiled = wb.aot_compile(module.train(training), (X,), backend="eager")
        assert wb.verify(compiled, (X,)).ok
        compiled.save(tmp_path / "module.aot")
        assert wb.verify(wb.load(tmp_path / "module.aot", module=module, trust=True), (X,)).ok


def test_one_that_is_not_parametrized_any_more_is_refused(tmp_path: Path) -> None:
    module = nn.Sequential(weight_norm(nn.Linear(4, 4)))
    compiled = wb.aot_compile(module, (X,), backend="eager")
    compiled.save(tmp_path / "module.aot")
    remove_parametrizations(module[0], "weight")
    for call in (compiled, wb.load(tmp_path / "module.aot", module=module, trust=True)):
        with pytest.raises(wb.ContractError, match=r"parametrizations\.weight\.original0"):
            call(X)
