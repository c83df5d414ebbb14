"""`%aot_compile -p`: a parser plus one call of `workbench.package`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

Run = Callable[[str], ExecutionResult]


def test_options_reach_the_api(
    run: Run,
    shell: InteractiveShell,
    package_calls: list[Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "model.pt2"
    run(
        f"%aot_compile -p {path} -m max-autotune -O epilogue_fusion=false -d x:0=batch[1..64] "
        "-o packed abs(-1)"
    )
    (call,) = package_calls
    assert (call.path, call.mode, call.args) == (str(path), "max-autotune", (-1,))
    assert call.options == {"epilogue_fusion": False}
    dim = call.dynamic_shapes["x"][0]
    assert (dim.__name__, dim.min, dim.max) == ("batch", 1, 64)
    assert repr(shell.user_ns["packed"]) == "Compiled(stand-in)"
    shown = capsys.readouterr().out
    assert f"Packaged as {path}." in shown
    assert "block (inductor, max-autotune, host)" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-s m.aot", "write one of them"),
        ("-g strict", "a package has a contract instead"),
        ("-b eager", "-p compiles with AOTInductor: leave -b out"),
        ("-t h100", "not for h100: leave -t out"),
        ("--bg", "leave -s, -p and -a out"),
        ("-p", "-p needs a value: -p PATH"),
    ],
)
def test_what_a_package_cannot_is_one_line(
    run: Run,
    package_calls: list[Any],
    capsys: pytest.CaptureFixture[str],
    options: str,
    message: str,
) -> None:
    run(f"%aot_compile abs(-1) -p m.pt2 {options}" if options != "-p" else "%aot_compile -p")
    error = capsys.readouterr().err
    assert error.startswith("UsageError: %aot_compile")
    assert message in error
    assert not package_calls
