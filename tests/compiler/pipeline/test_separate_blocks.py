"""Blocks that are kept apart share no kernel, and their edges are undone afterwards."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.compiler.pipeline.separate_blocks import keep_blocks_apart
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.report import Report
from workbench.report.collectives.collective_rows import BLOCKS


class Halves(torch.nn.Module):
    """Pointwise code that Inductor makes one kernel of, in two modules and around them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Tanh(), torch.nn.Sigmoid()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x * 3.0)) + 1.0


def compile_halves(blocks: tuple[tuple[str, str], ...]) -> Report:
    options = CompileOptions(grad=False, blocks=blocks)
    return compile_ahead(CompileRequest(Halves(), (torch.ones(40),), {}, options)).report


@pytest.mark.slow
def test_nothing_is_fused_over_the_edge_of_a_block() -> None:
    whole = compile_halves(())
    assert sum(row.phase == "after" for row in whole.scheduler_nodes) == 1
    assert BLOCKS not in whole.extra
    parted = compile_halves((("", ""), ("first", "1st"), ("second", "2nd")))
    found = parted.extra[BLOCKS]
    fused = [row for row in parted.scheduler_nodes if row.phase == "after"]
    own = [{found[f"{row.graph}:{name}"] for name in row.members} for row in fused]
    assert own == [{""}, {"1st"}, {"2nd"}, {""}]


def test_torch_is_as_before_afterwards_also_after_an_error() -> None:
    names = (tp.CAN_FUSE, tp.LOWER_NODE, tp.FUSE_ONCE, tp.CHOOSE_SAVED_VALUES)
    before: list[Any] = [name.get() for name in names]
    try:
        with keep_blocks_apart([("", "")]):
            assert [name.get() for name in names] != before
            raise KeyError
    except KeyError:
        pass
    assert [name.get() for name in names] == before
