from __future__ import annotations

from pathlib import Path

import pytest

from workbench.report import Report
from workbench.trace_logs.kernel_code import parse_program

RECORDS = Path(__file__).parents[1] / "records"


@pytest.mark.parametrize("name", ["block.wbr", "norm_h100.wbr"])
def test_a_program_holds_the_kernels_that_were_recorded_live(name: str) -> None:
    report = Report.load(RECORDS / name)
    for wrapper in report.wrappers:
        assert wrapper.text is not None
        program = parse_program(report.texts[wrapper.text])
        assert [(k.name, k.language, k.calls, k.text) for k in program.kernels] == [
            (k.name, k.language, k.calls, None if k.text is None else report.texts[k.text])
            for k in report.kernels
        ]
        live = {buffer.name: buffer.shape for buffer in report.buffers}
        assert all(live[buffer.name] == buffer.shape for buffer in program.buffers)


PROGRAM = """\
# AOT ID: ['3_backward']
cpp_fused_0 = async_compile.cpp_pybinding(['const float*', 'float*', 'float*'], r'''
extern "C"  void  kernel(const float* in_ptr0, float* in_out_ptr0, float* out_ptr1)
{
}
''')


async_compile.wait(globals())

def call(args):
    assert_size_stride(arg0_1, (8, s0), (16, 1), 'input')
    buf0 = empty_strided_cpu((8, 4), (4, 1), torch.bfloat16)
    buf1 = empty_strided_cuda((8, ), (1, ), torch.float32)
    # Topologically Sorted Source Nodes: [x, mm], Original ATen: [aten.mm]
    # [Provenance debug handles] extern_kernels.mm:1
    extern_kernels.mm(arg0_1, reinterpret_tensor(arg0_1, (s0, 8), (1, 16), 0), out=buf0)
    buf2 = reinterpret_tensor(buf0, (4, 8), (1, 4), 0); del buf0  # reuse
    # [Provenance debug handles] cpp_fused_0:2,cpp_fused_0:3
    cpp_fused_0(arg0_1, buf2, buf1)
    buf3 = torch.ops.aten.topk.default(buf2, 2)
    buf4 = buf3[0]
    return (buf1, buf4, )

def benchmark_compiled_module(times=10, repeat=10):
    extern_kernels.mm(arg0_1, arg0_1, out=buf0)
"""


def test_calls_tell_what_kernels_read_and_write() -> None:
    program = parse_program(PROGRAM)
    assert program.is_backward
    assert [(k.name, k.language, list(k.reads), list(k.writes)) for k in program.kernels] == [
        ("extern_kernels.mm", "extern", ["arg0_1"], ["buf0"]),
        ("cpp_fused_0", "cpp", ["arg0_1", "buf0"], ["buf0", "buf1"]),
        ("torch.ops.aten.topk.default", "extern", ["buf0"], ["buf3"]),
    ]
    assert program.kernels[0].captured == ("x", "mm")
    assert list(program.kernels[1].handles) == ["cpp_fused_0:2", "cpp_fused_0:3"]
    buffers = {buffer.name: buffer for buffer in program.buffers}
    assert buffers["buf0"].bytes() == 64
    assert buffers["arg0_1"].bytes() is None
    assert buffers["buf1"].kind == "output"


def test_inputs_that_are_checked_in_one_line_are_inputs_too() -> None:
    """As torch 2.14 and later write it, and what a library gave with its dtype."""
    text = PROGRAM.replace(
        "assert_size_stride(arg0_1, (8, s0), (16, 1), 'input')",
        "assert_size_stride_grouped((arg0_1, arg1_1), ((8, s0), ()), ((16, 1), ()), 'input')",
    ).replace(
        "    buf4 = buf3[0]",
        "    buf4 = buf3[0]\n"
        "    assert_tensor_metadata(buf3, (4, 2), (2, 1), torch.bfloat16, 'torch.ops.aten.topk')",
    )
    buffers = {buffer.name: buffer for buffer in parse_program(text).buffers}
    assert (buffers["arg0_1"].kind, buffers["arg0_1"].shape) == ("input", (8, "s0"))
    assert (buffers["arg1_1"].kind, buffers["arg1_1"].shape) == ("input", ())
    assert buffers["buf3"].shape == (4, 2)


def test_a_program_in_another_language_has_no_kernels() -> None:
    assert parse_program("#include <torch/csrc/inductor/aoti_runtime/model.h>").kernels == ()
