"""Operators of torch's database compile for a virtual GPU: all but those listed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

import workbench as wb

pytest.importorskip("expecttest", reason="torch's operator database needs it")

from tests.operators import cases
from tests.operators.cases import entries

LISTED = tomllib.loads(Path(__file__).with_name("refused_on_gpu.toml").read_text())
REFUSED = {name: reason for reason, names in LISTED.items() for name in names}
FIRST = (torch.float32, torch.int64, torch.complex64, torch.bool)
COMPILED = 647
GROUP = 50
OF_THE_LIST = torch.__version__.startswith("2.13.")  # other releases have other operators


def sample_of(name: str) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The first inputs that are dense, of the first dtype that has such."""
    entry = entries()[name]
    known = entry.supported_dtypes("cpu")
    for dtype in dict.fromkeys((*FIRST, *sorted(known, key=str))):
        if dtype not in known:
            continue
        torch.manual_seed(cases.SEED)
        for sample in entry.sample_inputs("cpu", dtype, requires_grad=False):
            call = (sample.input, *sample.args), dict(sample.kwargs)
            leaves = [leaf for leaf in tree_leaves(call) if isinstance(leaf, torch.Tensor)]
            if all(leaf.layout == torch.strided for leaf in leaves):
                return call
    return None


def what_is_refused(names: tuple[str, ...]) -> set[str]:
    """The operators without code; an error that is none of ours ends the test."""
    refused = set()
    for name in names:
        torch._dynamo.reset()
        call = sample_of(name)
        try:
            if call is None:
                raise wb.UsageError("no sample")
            wb.aot_compile(entries()[name].op, *call, target="h100", grad=False)
        except wb.WorkbenchError:
            refused.add(name)
    return refused


def expected(names: tuple[str, ...]) -> set[str]:
    return {name for name in names if name in REFUSED}


def groups() -> list[tuple[str, ...]]:
    names = tuple(entries())
    return [names[start : start + GROUP] for start in range(0, len(names), GROUP)]


def test_a_sample_compiles_for_a_gpu_that_is_not_here() -> None:
    names = ("diagonal_scatter", "masked_fill", "equal")
    assert what_is_refused(names) == expected(names) == {"equal"}


@pytest.mark.slow
@pytest.mark.parametrize("names", [pytest.param(group, id=group[0]) for group in groups()])
def test_every_operator_compiles_for_a_gpu_that_is_not_here(names: tuple[str, ...]) -> None:
    assert what_is_refused(names) == expected(names)


def test_as_many_compile_as_is_said() -> None:
    if OF_THE_LIST:
        assert REFUSED.keys() <= entries().keys()
        assert len(entries()) - len(REFUSED) == COMPILED
