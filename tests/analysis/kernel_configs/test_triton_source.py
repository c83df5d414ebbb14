from __future__ import annotations

import pytest

from workbench.analysis.kernel_configs.triton_source import (
    read_source,
    remove_heuristics,
    replace_fixed,
)
from workbench.errors import UsageError

POINTWISE = """
import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers, triton_heuristics
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 65536},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32',
        'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0), 'constants': {},
        'enable_fp_fusion': True, 'configs': [{(0,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'num_load': 1},
    min_elem_per_thread=0
)
@triton.jit
def triton_poi_relu(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 64000
    xoffset = tl.program_id(0) * XBLOCK
"""
TEMPLATE = """
@triton_heuristics.template(
num_stages=2,
triton_meta={'signature': {'arg_A': '*fp32'}, 'constants': {}, 'configs': [{}]},
inductor_meta={'grid_type': 'FixedGrid'},
)
@triton.jit
def triton_tem_mm(arg_A):
    EVEN_K : tl.constexpr = True
    BLOCK_M : tl.constexpr = 64
    M = 512
    M = 7
"""


def test_all_that_a_compiler_needs_is_read() -> None:
    source = read_source(POINTWISE)
    assert (source.name, source.kind, source.grid) == ("triton_poi_relu", "pointwise", "Grid1D")
    assert source.parameters == ("XBLOCK",)
    assert source.pointers == ("bf16", "fp32")
    assert source.attributes == {(0,): [["tt.divisibility", 16]]}
    assert source.options == {"enable_fp_fusion": True}


def test_sizes_are_exact_where_the_text_has_them() -> None:
    source = read_source(POINTWISE)
    assert source.numels == {"x": 64000}
    dynamic = read_source(POINTWISE.replace("    xnumel = 64000\n", ""))
    assert dynamic.numels == {"x": 65536}  # rounded up to a power of two


def test_reductions_of_columns_read_along_x() -> None:
    text = POINTWISE.replace("{'x': 65536}", "{'x': 64, 'r0_': 128}, reduction_hint={}")
    inner = read_source(text.replace("{},\n", "ReductionHint.INNER,\n", 1))
    outer = read_source(text.replace("{},\n", "ReductionHint.OUTER,\n", 1))
    assert (inner.contiguous, outer.contiguous) == ("r0_", "x")


def test_numbers_in_the_text_can_be_changed() -> None:
    assert read_source(TEMPLATE).fixed == {"BLOCK_M": 64, "M": 512}
    changed = replace_fixed(TEMPLATE, {"BLOCK_M": 128})
    assert "    BLOCK_M : tl.constexpr = 128\n    M = 512\n" in changed
    assert read_source(changed).fixed["BLOCK_M"] == 128


def test_what_inductor_would_run_is_left_out() -> None:
    module, name = remove_heuristics(POINTWISE)
    assert name == "triton_poi_relu"
    function = module.body[-1]
    assert [d.attr for d in function.decorator_list] == ["jit"]  # type: ignore[attr-defined]
    assert (
        function.lineno
        == POINTWISE.split("\n").index(
            "def triton_poi_relu(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):"
        )
        + 1
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:", "cannot be read"),
        ("x = 1", "its decorator is missing"),
        ("@triton_heuristics.pointwise()\ndef f(): ...", "lacks its argument types"),
    ],
)
def test_a_text_that_is_no_kernel_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_source(text)
