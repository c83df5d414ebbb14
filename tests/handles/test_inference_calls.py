"""Calls on the other side of `torch.inference_mode()`: refused with a cure that holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from tests.older_releases import RELEASE


def _affine(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


@pytest.fixture(params=["function", "module"])
def subject(request: pytest.FixtureRequest) -> Any:
    """What is compiled."""
    return _affine if request.param == "function" else torch.nn.Linear(4, 4).eval()


def _loaded(compiled: Any, subject: Any, path: Path) -> Any:
    compiled.save(path)
    module = subject if isinstance(subject, torch.nn.Module) else None
    return wb.load(path, trust=True, module=module)


def test_the_cure_of_a_call_inside_holds(subject: Any, tmp_path: Path) -> None:
    x = torch.randn(2, 4)
    with torch.no_grad():
        live = wb.aot_compile(subject, (x,), backend="eager", capture="light")
    for compiled in (live, _loaded(live, subject, tmp_path / "outside.aot")):
        with torch.inference_mode():
            for given in (x, x.clone()):
                with pytest.raises(wb.ContractError) as caught:
                    compiled(given)
                cure = "`with torch.inference_mode(False), torch.no_grad():`"
                assert cure in str(caught.value)
                with torch.inference_mode(False), torch.no_grad():
                    torch.testing.assert_close(compiled(given.clone()), subject(x))


def test_the_cure_of_what_was_compiled_inside_holds(subject: Any, tmp_path: Path) -> None:
    with torch.inference_mode():
        inside = torch.randn(2, 4)
        live = wb.aot_compile(subject, (inside,), backend="eager", capture="light")
    loaded = _loaded(live, subject, tmp_path / "inside.aot")
    calls = [(live, torch.no_grad), (loaded, torch.no_grad)]
    if RELEASE < (2, 15):  # since then the guards that are loaded fit inside, too
        calls.append((loaded, torch.inference_mode))
    for compiled, mode in calls:
        with mode(), pytest.raises(wb.ContractError) as caught:
            compiled(inside.clone())
        assert "compile and call it under torch.no_grad()" in str(caught.value)
    with torch.no_grad():
        x = inside.clone()
        again = wb.aot_compile(subject, (x,), backend="eager", capture="light")
        torch.testing.assert_close(again(x), subject(x))
