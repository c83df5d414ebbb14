from __future__ import annotations

from collections.abc import Callable

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

Run = Callable[[str], ExecutionResult]
CELL = """%%aot_kernel -t a100 -o k
import torch, triton, triton.language as tl

@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)

x = torch.ones(100)
double[(triton.cdiv(100, 32),)](x, 100, BLOCK=32, num_warps=1)
"""


def test_a_cell_defines_a_kernel_and_ends_in_its_launch(run: Run, shell: InteractiveShell) -> None:
    run(CELL)
    made = shell.user_ns["k"]
    assert repr(made) == "Kernel(double, a100, grid (4,), BLOCK=32, num_warps=1)"
    assert shell.user_ns["x"].sum() == 100
    assert made.report.sources[0].file.startswith("cell ")
    (taken,) = made.report.resources
    assert taken.warps == 1
    store = next(row for row in made.report.assembly if row.stage == "sass")
    assert 4 in {line for _, _, line in store.lines}


def test_a_line_takes_a_kernel_that_is_there(run: Run, shell: InteractiveShell) -> None:
    run(CELL)
    result = run("%aot_kernel --no-view -o j double[lambda meta: (1,)](x, 100, BLOCK=128)")
    assert result.result is None
    assert shell.user_ns["j"].target == "h100"
    assert shell.user_ns["j"].call.resolve_grid() == (1, 1, 1)


def test_what_is_no_launch_is_refused(run: Run, shell: InteractiveShell) -> None:
    for line in (
        "%aot_kernel abs(1)",
        "%aot_kernel",
        "%%aot_kernel\nabs(1)",
        "%%aot_kernel\nx = 1",
    ):
        result = shell.run_cell(line)
        assert "Write the launch as in Triton" in str(result.error_in_exec)
    beside = shell.run_cell("%%aot_kernel f[(1,)](x)\nx = 1")
    assert "write the launch at the end of the cell" in str(beside.error_in_exec)
    for line, said in (
        ("%aot_kernel abs[(1,)](1, target='b200')", "Give target with -t"),
        ("%aot_kernel abs[(1,)](1, grid=3)", "Give grid in the brackets"),
    ):
        assert said in str(shell.run_cell(line).error_in_exec)


def test_what_does_not_compile_is_an_error_of_the_magic(run: Run, shell: InteractiveShell) -> None:
    run(CELL)
    result = shell.run_cell("%aot_kernel -o j double[(1,)](x, 100, BLOCK=100)")
    assert "arange's range must be a power of 2" in str(result.error_in_exec)
    assert repr(shell.user_ns["j"]) == "Kernel(double, h100, grid (1,), BLOCK=100)"
