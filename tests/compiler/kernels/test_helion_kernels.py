"""Helion's kernels, by a stand-in with what Helion documents: it is not installed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

import workbench as wb
from tests.own_kernels.kernels import add
from workbench.compiler.kernels.helion_kernels import is_helion, read_helion

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


def test_what_it_cannot_be_is_said() -> None:
    silent = CODE.replace("    _launcher(", "    print(").replace(
        ", num_warps=4, num_stages=1)", ")"
    )
    with pytest.raises(wb.UsageError, match="launches 0 kernels"):
        read_helion(StandIn(code=silent), (torch.ones(64),), {})
    with pytest.raises(wb.UsageError, match="Helion makes no Triton of double"):
        read_helion(StandIn(code=None), (torch.ones(64),), {})  # type: ignore[arg-type]
    with pytest.raises(wb.UsageError, match="add: grid is None, and has to be a tuple"):
        wb.kernel(add, torch.ones(8), BLOCK=8)
