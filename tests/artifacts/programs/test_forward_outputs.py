"""What a forward returns, with torch's remarks beside it and without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from workbench.artifacts.programs import read_forward_outputs

TAKEN = ("primals_1", "relu", "tangents_1")
EXPECTED = [("mul", False), ("relu", False), ("primals_1", True), ("relu", True)]


def report(text: str) -> Any:
    graph = SimpleNamespace(stage="forward", text="t0")
    return SimpleNamespace(graphs=[graph], texts={"t0": text})


def test_torch_says_what_is_kept() -> None:
    text = """
        return (
            mul,  # PlainAOTOutput(idx=0)
            relu,  # PlainAOTOutput(idx=1)
            primals_1,  # SavedForBackwardsAOTOutput(idx=0)
            relu,  # SavedForBackwardsAOTOutput(idx=1)
        )
    """
    assert read_forward_outputs(report(text), TAKEN) == EXPECTED


def test_in_one_line_the_last_are_kept_as_many_as_the_backward_takes() -> None:
    text = "def forward(self, primals_1):\n        return (mul, relu, primals_1, relu)\n        "
    assert read_forward_outputs(report(text), TAKEN) == EXPECTED


def test_a_part_of_the_graph_is_printed_after_it() -> None:
    part = "class layer(Module):\n        def forward(self, a):\n            return (a,)"
    text = (
        f"    # y = f(x); return y\n        return (mul, relu, primals_1, relu)\n\n        {part}\n"
    )
    assert read_forward_outputs(report(text), TAKEN) == EXPECTED


def test_a_list_in_a_line() -> None:
    assert read_forward_outputs(report("return [mul, None]"), ()) == [
        ("mul", False),
        ("None", False),
    ]


def test_a_record_without_the_forward_tells_nothing() -> None:
    assert read_forward_outputs(report(""), TAKEN) == []
