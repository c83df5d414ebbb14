from __future__ import annotations

import pytest
import torch
from torch import nn

import workbench as wb
from workbench.compiler.numerics.output_changes import Ends, list_unlike


@pytest.mark.parametrize(
    ("eager", "program", "said"),
    [
        ([torch.ones(2)], [torch.ones(2)], []),
        ([torch.ones(2), 3], [torch.ones(2), 3], []),
        (
            [torch.ones(2)],
            [torch.ones(3)],
            ["Output is float32 [3] where eager gives float32 [2]."],
        ),
        (
            [torch.ones(2), torch.ones(1)],
            [torch.ones(2).half()],
            [
                "The program returns 1 value where eager returns 2.",
                "Output[0] is float16 [2] where eager gives float32 [2].",
            ],
        ),
        ([torch.ones(2)], [None], ["Output is of type NoneType where eager gives float32 [2]."]),
    ],
)
def test_outputs_of_another_kind_are_named(eager, program, said) -> None:
    assert list(list_unlike(Ends(eager, program))) == said


def test_a_gradient_that_is_nothing_but_rounding_is_not_weighed() -> None:
    """That of a bias in front of a batch norm was said to be 3.8e15 roundings off."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).train()
    x = torch.randn(2, 3, 8, 8)
    found = wb.numerics(wb.aot_compile(module, (x,)), (x,))
    (bias,) = (row for row in found.outputs if row.output == "gradient of 0.bias")
    assert (bias.own_off, bias.eager_off) == (None, None)
    assert all(row.own_off < 100 for row in found.outputs if row.own_off is not None)


def test_a_file_of_another_function_does_not_give_what_its_reference_gives(tmp_path) -> None:
    x = torch.randn(8, 16)
    wb.aot_compile(nn.Linear(16, 4), (x,), grad=False).save(tmp_path / "f.aot")
    found = wb.numerics(wb.load(tmp_path / "f.aot"), (x,), reference=lambda q: q.sum(-1))
    assert found.sentence.startswith("Output is float32 [8, 4] where eager gives float32 [8].")
