"""The demonstration's phases."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.demo import Phases, compile_once


def test_phases_add_up_to_the_whole_and_a_repeated_phase_is_one_row() -> None:
    ticks = iter([10.0, 12.5, 13.0, 17.0])
    phases = Phases(lambda: next(ticks))

    assert phases.ended("compile") == pytest.approx(2.5)
    phases.ended("verify")
    phases.ended("compile")

    assert phases.seconds == {"compile": 6.5, "verify": 0.5}
    assert sum(phases.seconds.values()) == 17.0 - 10.0
    assert str(phases).splitlines() == [
        "   6.5 s  compile",
        "   0.5 s  verify",
        "   7.0 s  together",
    ]


def test_phases_count_from_an_earlier_start() -> None:
    phases = Phases(lambda: 12.0, started=9.0)

    assert phases.ended("import torch") == 3.0


def test_layers_that_are_compiled_once_are_one_part_that_is_called_for_each() -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(3)))
    x = torch.randn(2, 4)
    expected = model(x)
    compile_once(model)
    assert torch.equal(model(x), expected)
    compiled = wb.aot_compile(model, (x,), backend="eager", grad=False)
    called = [node.target for node in compiled.report.nodes if "invoke_subgraph" in node.target]
    assert len(called) == 3
    torch.testing.assert_close(compiled(x), expected)
