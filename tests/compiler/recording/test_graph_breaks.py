from __future__ import annotations

import pytest
import torch

from workbench.compiler.recording.recorder import Recorder
from workbench.compiler.sources.dynamo_messages import strip_reason


def broken(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print("in between")
    return y * 2


LINE = broken.__code__.co_firstlineno + 2


def test_a_break_says_where_why_and_what_to_do() -> None:
    torch.compiler.reset()
    with Recorder() as recorder:
        torch.compile(broken, backend="eager")(torch.ones(2))
    (found,) = recorder.report().breaks
    assert (found.line, found.function, found.text) == (LINE, "broken", 'print("in between")')
    assert found.file.endswith("test_graph_breaks.py")
    assert found.kind == "Failed to trace builtin operator"
    assert found.gb_id == "GB0059"
    assert "print" in found.explanation
    assert found.hints
    assert not any("\n" in hint for hint in found.hints)


def test_the_break_that_ends_a_capture_in_one_graph_is_recorded() -> None:
    torch.compiler.reset()
    with pytest.raises(Exception, match="print"), Recorder() as recorder:
        torch.compile(broken, backend="eager", fullgraph=True)(torch.ones(2))
    (found,) = recorder.report().breaks
    assert (found.line, found.gb_id) == (LINE, "GB0059")


def test_recompilations_name_the_guard_that_failed() -> None:
    torch.compiler.reset()
    with Recorder() as recorder:
        compiled = torch.compile(lambda x, flag: x + 1 if flag else x, backend="eager")
        compiled(torch.ones(2), True)
        compiled(torch.ones(2), False)
    (row,) = recorder.report().recompiles
    assert "flag" in row.reason
    assert row.compile_id.endswith("/1")


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_a_recompilation_says_in_one_line_of_which_function_it_is() -> None:
    torch.compiler.reset()
    with Recorder() as recorder:
        compiled = torch.compile(doubled, backend="eager")
        compiled(torch.ones(3))
        compiled(torch.ones(4))
    (row,) = recorder.report().recompiles
    assert row.function == "doubled"
    assert row.reason.endswith("tensor 'x' size mismatch at index 0. expected 3, actual 4")


def test_the_reason_of_a_recompilation_has_no_file_of_this_machine() -> None:
    text = "1/0: len(it) == 3        # for b in bs:  # me/a.py:7 in f\nUser stack trace:\n  File"
    assert strip_reason(text) == "1/0: len(it) == 3"
