"""The magics on the real compiler: small functions, the eager backend where that is enough."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from tests.older_releases import since

Run = Callable[[str], ExecutionResult]


@pytest.fixture
def user(shell: InteractiveShell) -> dict[str, Any]:
    shell.run_cell("import torch\ndef f(x, scale=2):\n    return torch.relu(x + 1) * scale")
    shell.run_cell("x = torch.randn(8, 4)")
    return shell.user_ns


def test_a_function_of_the_notebook_is_compiled(run: Run, user: dict[str, Any]) -> None:
    run("%aot_compile -b eager --no-view -o compiled f(x, scale=3)")
    torch.testing.assert_close(user["compiled"](user["x"], scale=3), user["f"](user["x"], 3))


def test_a_dynamic_dimension_accepts_its_range(run: Run, user: dict[str, Any]) -> None:
    run("%aot_compile -b eager --no-view -d x:0=rows[2..64] -o compiled f(x)")
    other = torch.randn(33, 4)
    torch.testing.assert_close(user["compiled"](other), user["f"](other))


def test_a_break_is_one_message_and_a_view(
    run: Run, user: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    run("def g(x):\n    y = x.sin()\n    if y.sum() > 0:\n        y = y + 1\n    return y")
    result = run("%aot_compile -b eager g(x)")
    shown = capsys.readouterr().out
    assert type(result.error_in_exec).__name__ == "CaptureError"
    assert re.search(r'at cell \d+:3 in g: "if y.sum\(\) > 0:"', shown)
    assert "ipython-input" not in shown
    assert "Traceback" not in shown


def test_a_file_for_a_gpu_that_is_not_here_is_saved(
    run: Run, user: dict[str, Any], tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.aot"
    run(f"%aot_compile -t h100 --no-view -s {path} f(x)")
    assert f"Saved {path} for machines with NVIDIA H100 80GB HBM3." in capsys.readouterr().out
    assert run(f"%aot_inspect {path}").success
    assert "gpu NVIDIA H100 80GB HBM3, sm_90a" in capsys.readouterr().out
    refused = run(f"%aot_load {path}")
    assert "was compiled for h100 (NVIDIA H100 80GB HBM3, sm_90a)" in str(refused.error_in_exec)


@since("2.12", "what aot_eager makes cannot be kept")
def test_a_loaded_file_gives_the_same(run: Run, user: dict[str, Any], tmp_path: Any) -> None:
    path = tmp_path / "f.aot"
    run(f"%aot_compile -b aot_eager --no-view -s {path} f(x)")
    assert run(f"%aot_inspect {path}").success
    run(f"%aot_load {path} -o loaded")
    torch.testing.assert_close(user["loaded"](user["x"]), user["f"](user["x"]))
