"""What `%aot_compile` gives as the value of a cell."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from IPython.core.interactiveshell import ExecutionResult

Run = Callable[[str], ExecutionResult]
CALL = "import torch\ndef f(x): return torch.relu(x) * 2\nx = torch.ones(3)"
HEAD = "f (eager, host)"


def test_a_compilation_as_the_value_of_a_cell_is_its_summary(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run(f"{CALL}\n%aot_compile -b eager -o c f(x)")
    shown = capsys.readouterr().out
    assert shown.count(HEAD) == 1
    assert "Out[1]: Compiled(f(" in shown  # the cell has shown the rest
    value = run("c").result
    assert HEAD in capsys.readouterr().out
    bundle = value._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "relu" in bundle["text/html"]
    assert repr(value).startswith("Compiled(f(")


def test_no_view_means_no_summary(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run(f"{CALL}\n%aot_compile -b eager --no-view f(x)")
    shown = capsys.readouterr().out
    assert HEAD not in shown
    assert "Out[1]: Compiled(f(" in shown
