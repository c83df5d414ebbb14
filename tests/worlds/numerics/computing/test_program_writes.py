"""What a statement of a program passes to a kernel of the user."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.worlds.numerics.computing.recorded_stages import (
    KernelWrites,
    find_call,
    list_unwritten,
    read_signature,
)


def call(name: str, *variables: str, is_generated: bool = True) -> Any:
    kernel: Any = SimpleNamespace(name=name, is_generated=is_generated)
    return KernelWrites(kernel, tuple((variable, variable) for variable in variables))


def test_a_statement_is_the_call_that_writes_one_of_its_variables() -> None:
    calls = [call("k", "buf0"), call("k", "buf1"), call("other", "buf2")]
    assert find_call(calls, "k", {"buf1", "arg0"}) is calls[1]
    assert find_call(calls, "k", {"arg0"}) is None
    library = call("extern_kernels.mm", "buf3", is_generated=False)
    assert find_call([library], "extern_kernels.mm", {"arg0"}) is library


SOURCE = """
@triton_heuristics.user_autotune(
    triton_meta={'signature': {'x': '*fp32', 'n': 'i32', 'BLOCK': 'constexpr'}, 'device': 0},
)
"""


@pytest.mark.parametrize(
    ("source", "kinds"),
    [(SOURCE, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}), ("def f(): ...", {})],
)
def test_the_types_of_a_kernel_are_read(source: str, kinds: dict[str, str]) -> None:
    assert read_signature(source) == kinds


IN_CPP = 'extern "C"  void  kernel(float* in_out_ptr0, const float* in_ptr0)\n{{\n{}\n}}'
IN_TRITON = "@jit\ndef triton_poi_0(in_out_ptr0, in_ptr0, n, XBLOCK : tl.constexpr):\n    {}\n"


@pytest.mark.parametrize(
    ("source", "unwritten"),
    [
        (IN_CPP.format("auto tmp0 = Vec::loadu(in_out_ptr0 + x0);"), {"buf0"}),
        (IN_CPP.format("auto tmp0 = in_out_ptr0[x0];"), {"buf0"}),
        (IN_CPP.format("auto tmp0 = in_out_ptr0[x0];\nin_out_ptr0[x0] = tmp0;"), set()),
        (IN_CPP.format("auto out_ptr0 = in_out_ptr0;\nout_ptr0[x0] = 1;"), set()),
        (IN_CPP.format("tmp1.store(in_out_ptr0 + x0);"), set()),
        (IN_TRITON.format("tmp0 = tl.load(in_out_ptr0 + (x0), xmask)"), {"buf0"}),
        (IN_TRITON.format("tl.store(in_out_ptr0 + (x0), tmp0, xmask)"), set()),
        ("def f(): ...", set()),
    ],
)
def test_memory_that_is_only_read_is_not_written(source: str, unwritten: set[str]) -> None:
    assert list_unwritten(source, ["buf0", "arg0"]) == unwritten
