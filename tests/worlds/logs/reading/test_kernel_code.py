from __future__ import annotations

from pathlib import Path

import pytest

from workbench.report import Report
from workbench.worlds.logs.reading.kernel_code import parse_aoti, parse_program

RECORDS = Path(__file__).parents[3] / "records"


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
        ("cpp_fused_0", "cpp", ["arg0_1", "buf0"], ["buf2", "buf1"]),
        ("torch.ops.aten.topk.default", "extern", ["buf2"], ["buf3", "buf4"]),
    ]
    assert program.kernels[0].captured == ("x", "mm")
    assert list(program.kernels[1].handles) == ["cpp_fused_0:2", "cpp_fused_0:3"]
    buffers = {buffer.name: buffer for buffer in program.buffers}
    assert buffers["buf0"].bytes() == 64
    assert buffers["arg0_1"].bytes() is None
    assert buffers["buf1"].kind == "output"
    assert program.reused == {"buf2": "buf0"}
    assert (buffers["buf2"].shape, buffers["buf2"].bytes()) == ((4, 8), 64)


COALESCED = """
# AOT ID: ['0_inference']
async_compile.wait(globals())

def call(args):
    buf0 = empty_strided_cpu((12, 4), (4, 1), torch.float32)
    buf1 = empty_strided_cpu((2, 4), (4, 1), torch.float32)
    buf2 = torch.ops._c10d_functional.all_gather_into_tensor_coalesced.default([buf0, buf1], 3, '0')
    buf3 = buf2[0]
    torch.ops._c10d_functional.wait_tensor.default(buf3)
    return (buf3, )
"""


def test_a_call_with_a_list_reads_all_in_it_and_its_tuple_is_waited_for_by_part() -> None:
    start, wait = parse_program(COALESCED).kernels
    assert list(start.reads) == ["buf0", "buf1"]
    assert list(start.writes) == ["buf2", "buf3"]
    assert list(wait.reads) == ["buf3"]


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


PARTS = """\
triton_poi_0 = async_compile.triton('triton_poi_0', '''
def triton_poi_0(in_ptr0, out_ptr0, xnumel):
    pass
''', device_str='cuda')

def partition_0(args):
    arg0_1, = args
    args.clear()
    assert_size_stride(arg0_1, (8, ), (1, ), 'input')
    with torch.cuda._DeviceGuard(0):
        buf0 = empty_strided_cuda((8, ), (1, ), torch.float32)
        triton_poi_0.run(arg0_1, buf0, 8, stream=stream0)
    return (buf0, )

async_compile.wait(globals())

class Runner:
    def call(self, args):
        arg0_1, = args
        partition0_args = [arg0_1]
        (buf0,) = self.partitions[0](partition0_args)
        return (buf0, )
"""


def test_the_parts_of_a_program_are_read_which_stand_before_its_kernels_are_awaited() -> None:
    program = parse_program(PARTS)
    (kernel,) = program.kernels
    assert (kernel.calls, list(kernel.reads), list(kernel.writes)) == (1, ["arg0_1"], ["buf0"])
    assert [(b.name, b.kind, b.bytes()) for b in program.buffers] == [
        ("arg0_1", "input", None),
        ("buf0", "output", 32),
    ]


def test_a_program_in_another_language_has_no_kernels() -> None:
    assert parse_program("#include <torch/csrc/inductor/aoti_runtime/model.h>").kernels == ()


KERNELS = """\
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  cpp_fused_relu_0(float* in_out_ptr0,
                       const float* in_ptr0)
{
}

#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  cpp_fused_unused_1(float* out_ptr0)
{
}
"""
WRAPPER = """\
void other() { cpp_fused_unused_1(x); }
/*
triton_poi_fused_2 = async_compile.triton('triton_poi_fused_2', r'''
def triton_poi_fused_2(in_ptr0, out_ptr0, xnumel, XBLOCK):
    pass
''', device_str='cuda')
*/
void AOTInductorModel::run_impl(
) {
    auto arg2_1 = std::move(inputs[0]);
    static constexpr int64_t int_array_0[] = {8L, };
    static constexpr int64_t int_array_1[] = {1L, };
    AtenTensorHandle buf0_handle;
    AOTI_CHECK(aoti_torch_empty_strided(1, int_array_0, int_array_1, cached_torch_dtype_float32, \
cached_torch_device_type_cpu, this->device_idx_, &buf0_handle));
    if (_check()) { assert_size_stride(arg2_1, {s97, 8L}, {8L, 1L}, "input"); }
    // Topologically Sorted Source Nodes: [linear], Original ATen: [aten.addmm]
    AOTI_CHECK(aoti_torch_cpu_addmm_out(buf0, arg2_1, arg2_1, 1L, 1L));
    auto buf2 = std::move(buf0);  // reuse
    cpp_fused_relu_0((float*)(buf2.data_ptr()), (const float*)(arg2_1.data_ptr()));
    call_triton_poi_fused_2(arg2_1, buf2, 8L, this->device_idx_, stream, kernels, cubin_dir_);
    AtenTensorHandle buf3_handle;
    AOTI_CHECK(aoti_torch_cpu_topk(buf2, 2L, &buf3_handle));
    output_handles[0] = buf2.release();
}
"""


def test_a_program_of_aotinductor_is_read_with_its_kernels() -> None:
    program = parse_aoti(WRAPPER, KERNELS)
    assert [
        (k.name, k.language, k.calls, list(k.reads), list(k.writes)) for k in program.kernels
    ] == [
        ("extern_kernels.addmm", "extern", 1, ["arg2_1"], ["buf0"]),
        ("cpp_fused_relu_0", "cpp", 1, ["buf0", "arg2_1"], ["buf2"]),
        ("triton_poi_fused_2", "triton", 1, ["arg2_1"], ["buf2"]),
        ("torch.ops.aten.topk", "extern", 1, ["buf2"], ["buf3"]),
        ("cpp_fused_unused_1", "cpp", 0, [], []),
    ]
    assert program.kernels[0].captured == ("linear",)
    assert (program.kernels[1].text or "").endswith("{\n}")
    assert [(b.name, b.kind, b.shape, b.dtype) for b in program.buffers[:3]] == [
        ("buf0", "intermediate", (8,), "float32"),
        ("arg2_1", "input", ("s97", 8), None),
        ("buf2", "output", (8,), "float32"),
    ]
