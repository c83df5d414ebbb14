"""How a generated program calls a kernel, and how what it is called with lies in memory."""

from __future__ import annotations

import pytest

from workbench.analysis.kernel_script.script import Layout, read_calls
from workbench.errors import UsageError

PROGRAM = """
k0 = async_compile.cpp_pybinding(['const float*'], '''source''')

def call(self, args):
    a, b = args
    CHECKS
    out = empty_strided_cpu((6, ), (1, ), torch.float32)
    k0(a, b, out)
    return (out, )
"""


@pytest.mark.parametrize(
    "checks",
    [
        "assert_size_stride(a, (2, 3), (3, 1), 'input'); assert_size_stride(b, (6, ), (1, ))",
        "assert_size_stride_grouped((a, b), ((2, 3), (6, )), ((3, 1), (1, )), 'input')",
        "a = b; assert_size_stride(b, (6, ), (1, )); "
        "assert_tensor_metadata(a, (2, 3), (3, 1), torch.float32, 'torch.ops.aten.sort')",
    ],
)
def test_layouts_are_what_the_program_checks(checks: str) -> None:
    found = read_calls(PROGRAM.replace("CHECKS", checks), ["k0"])
    assert found.calls == {"k0": ("a", "b", "out")}
    assert found.tensors == {
        "a": Layout((2, 3), (3, 1)),
        "b": Layout((6,), (1,)),
        "out": Layout((6,), (1,)),
    }


def test_a_size_that_is_not_written_is_an_error() -> None:
    checks = "assert_size_stride_grouped((a, b), ((2, s0), (6, )), ((s0, 1), (1, )), 'input')"
    with pytest.raises(UsageError, match=r"k0 is called with a, whose size is symbolic"):
        read_calls(PROGRAM.replace("CHECKS", checks), ["k0"])


def test_what_lies_in_a_pool_is_laid_out_as_the_script_cannot() -> None:
    program = PROGRAM.replace("CHECKS", "pool0 = empty_strided_cpu((64, ), (1, ), torch.uint8)")
    program = program.replace(
        "a, b = args", "a = alloc_from_pool(pool0, 8, torch.int8, (6, ), (1, ))"
    )
    with pytest.raises(UsageError, match=r"k0 is called with a, whose size is symbolic or not"):
        read_calls(program, ["k0"])


def test_arguments_with_a_name_are_left_out() -> None:
    program = PROGRAM.replace("CHECKS", "pass").replace("k0(a, b, out)", "k0.run(out, s=a)")
    assert read_calls(program, ["k0"]).calls == {"k0": ("out",)}
