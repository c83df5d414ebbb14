"""How a generated program calls a kernel, and how what it is called with lies in memory."""

from __future__ import annotations

import pytest

from workbench.analysis.kernel_script.wrapper_call import Layout, read_calls
from workbench.errors import UsageError

PROGRAM = """
k0 = async_compile.cpp_pybinding(['const float*'], 'source')

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
    assert found.calls == (("k0", ("a", "b", "out")),)
    assert found.tensors == {
        "a": Layout((2, 3), (3, 1)),
        "b": Layout((6,), (1,)),
        "out": Layout((6,), (1,)),
    }


def test_a_size_that_is_not_written_is_an_error() -> None:
    checks = "assert_size_stride_grouped((a, b), ((2, s0), (6, )), ((s0, 1), (1, )), 'input')"
    with pytest.raises(UsageError, match=r"k0 is called with a, whose size is symbolic"):
        read_calls(PROGRAM.replace("CHECKS", checks), ["k0"])
