"""Helion's kernels, by a stand-in with what Helion documents; by Helion where it is installed."""

from __future__ import annotations

import importlib
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import workbench as wb
from tests.worlds.own_kernels.programs.kernels import add
from workbench.compiler.kernels.helion_kernels import is_helion, read_helion

REAL = """
import helion
import helion.language as hl
import torch

@helion.kernel(config=helion.Config(block_sizes=[64, 32]))
def summed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size()):
        out[tile] = x[tile] + y[tile]
    return out
"""
CODE = """
import torch, triton, triton.language as tl

@triton.jit
def _helion_double(x, out, _BLOCK_SIZE_0: tl.constexpr):
    i = tl.program_id(0) * _BLOCK_SIZE_0 + tl.arange(0, _BLOCK_SIZE_0)
    tl.store(out + i, tl.load(x + i) * 2)

def double(x, *, _launcher):
    out = torch.empty_like(x)
    _BLOCK_SIZE_0 = {block}
    grid = (triton.cdiv(x.size(0), _BLOCK_SIZE_0),)
    _launcher(_helion_double, grid, x, out, _BLOCK_SIZE_0, num_warps=4, num_stages=1)
    return out
"""


class StandIn:
    """What `helion.kernel` gives, as far as it is asked."""

    def __init__(self, configs: tuple[int, ...] = (), code: str = CODE):
        self.name, self.configs, self._code = "double", configs, code
        self.fn: Any = lambda x: x

    def normalize_args(self, *args: Any, **named: Any) -> tuple[Any, ...]:
        bound = signature(self.fn).bind(*args, **named)
        bound.apply_defaults()
        return bound.args

    def bind(self, args: tuple[Any, ...]) -> Any:
        return SimpleNamespace(
            config_spec=SimpleNamespace(default_config=lambda: 32),
            to_triton_code=lambda config: self._code.replace("{block}", str(config)),
        )


StandIn.__module__ = "helion.runtime.kernel"


def test_its_triton_is_taken_in_its_configuration() -> None:
    x = torch.ones(256)
    assert is_helion(StandIn())
    assert not is_helion(add)
    own = wb.kernel(StandIn(), x)
    assert (own.name, own.call.grid) == ("_helion_double", (8,))
    assert own.call.meta == {"_BLOCK_SIZE_0": 32, "num_warps": 4, "num_stages": 1}
    assert wb.kernel(StandIn((64,)), x).call.grid == (4,)
    assert wb.kernel(StandIn(), x, config=128).call.grid == (2,)


def test_what_is_given_by_name_takes_its_place() -> None:
    code = CODE.replace("def double(x, *", "def double(x, times, y, *").replace(
        "grid, x,", "grid, y if times == 3 else None,"
    )
    made = StandIn(code=code)
    made.fn = lambda x, times=3, y=None: x
    x, y = torch.ones(256), torch.zeros(256)
    assert wb.kernel(made, y=y, x=x).call.arguments["x"] is y
    assert wb.kernel(made, x, y=y).call.arguments["x"] is y  # between them is the default


def test_a_program_that_stops_before_its_kernel_is_refused() -> None:
    code = CODE.replace("    grid =", "    raise AssertionError('only on a GPU')\n    grid =")
    with pytest.raises(wb.UsageError, match=r"double fails .* \(AssertionError\): only on a GPU"):
        wb.kernel(StandIn(code=code), torch.ones(256))


def test_what_it_cannot_be_is_said() -> None:
    silent = CODE.replace("    _launcher(", "    print(").replace(
        ", num_warps=4, num_stages=1)", ")"
    )
    with pytest.raises(wb.UsageError, match="launches 0 kernels"):
        read_helion(StandIn(code=silent), (torch.ones(64),), {})
    with pytest.raises(wb.UsageError, match="Helion generates no Triton code for double"):
        read_helion(StandIn(code=None), (torch.ones(64),), {})  # type: ignore[arg-type]
    with pytest.raises(wb.UsageError, match="grid of add is None: expected a tuple"):
        wb.kernel(add, torch.ones(8), BLOCK=8)


def test_what_helion_itself_writes_is_taken_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helion = pytest.importorskip("helion", reason="Helion is not installed")
    (tmp_path / "summing.py").write_text(REAL)  # Helion reads the text of a kernel
    monkeypatch.syspath_prepend(tmp_path)
    summed = importlib.import_module("summing").summed
    x = torch.randn(200, 96)
    own = wb.kernel(summed, x, x, target="h100")
    assert (own.name, own.call.grid) == ("_helion_summed", (4 * 3,))
    assert own.check(reference=lambda x, y, out=None: x + y).ok
    other = wb.kernel(summed, x, x, target="h100", config=helion.Config(block_sizes=[32, 32]))
    assert other.call.grid == (7 * 3,)
    with pytest.raises(wb.UsageError, match="Helion writes the blocks of _helion_summed into its"):
        own.tune()
    assert len(own.tune(space={"num_warps": [2, 4]}, budget=2).frame())


def test_blocks_that_are_constants_of_the_text_are_not_tuned() -> None:
    fixed = CODE.replace(", _BLOCK_SIZE_0: tl.constexpr", "").replace(
        "@triton.jit", "_BLOCK_SIZE_0 = tl.constexpr(32)\n\n@triton.jit"
    )
    fixed = fixed.replace("x, out, _BLOCK_SIZE_0, num", "x, out, num")
    own = wb.kernel(StandIn(code=fixed), torch.ones(256), target="h100")
    with pytest.raises(wb.UsageError, match=r"one wb\.kernel\(fn, \*args, config=helion\.Config"):
        own.tune()


def test_blocks_that_are_parameters_are_not_tuned_either() -> None:
    """The masks that Helion left out are right for its own block, and the grid is."""
    own = wb.kernel(StandIn(), torch.ones(256), target="h100")
    for space in (None, {"_BLOCK_SIZE_0": [32, 512]}, [{"_BLOCK_SIZE_0": 64, "num_warps": 4}]):
        with pytest.raises(wb.UsageError, match="Helion writes the blocks of _helion_double"):
            own.tune(space=space)
    assert len(own.tune(space={"num_warps": [2, 4]}).cases[0].ranked) == 2
