"""What the text of a generated program in C++ says of its memory."""

from __future__ import annotations

import pytest

from workbench.artifacts.programs import (
    Allocate,
    Call,
    Drop,
    Event,
    Inputs,
    Program,
    Return,
    Share,
    is_cpp_program,
    read_program,
)

HEAD = """\
void AOTInductorModel::run_impl(
    AtenTensorHandle* input_handles, // borrowed
    AtenTensorHandle* output_handles,
    AOTIProxyExecutorHandle proxy_executor
) {
    __check_inputs_outputs(input_handles, output_handles);
"""
CHECKED = "AOTI_TORCH_ERROR_CODE_CHECK"
VIEW = "wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper"


def read(body: str, **hints: int) -> Program:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    program = read_program(f"{HEAD}{lines}}} // AOTInductorModel::run_impl\n", hints)
    assert program is not None
    return program


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        ("buf0.reset();", [Drop("buf0")]),
        ("auto buf1 = std::move(buf0);  // reuse", [Share("buf1", "buf0"), Drop("buf0")]),
        (
            f"auto buf1 = {VIEW}(buf0, 2, int_array_0, int_array_1, 0L)); buf0.reset();  // reuse",
            [Share("buf1", "buf0"), Drop("buf0")],
        ),
        ("cpp_fused_add_0((float*)(buf0.data_ptr()), 4L);", [Call("cpp_fused_add_0")]),
        ("call_triton_poi_0(buf0, 4L, stream, kernels);", [Call("triton_poi_0")]),
        (
            f"{CHECKED}(aoti_torch_cpu_mm_out(buf0, arg0_1, {VIEW}(arg1_1, 2, a, b, 0L))));",
            [Call("aoti_torch_cpu_mm_out")],
        ),
        (
            f"AtenTensorHandle buf2_handle;\n{CHECKED}(aoti_torch_cpu_cumsum(buf1, 0L, "
            "&buf2_handle));\nRAIIAtenTensorHandle buf2(buf2_handle);",
            [Call("aoti_torch_cpu_cumsum", "buf2")],
        ),
        (
            "AtenTensorHandle tmp_buf1_0;\n"
            f"{CHECKED}(aoti_torch_new_tensor_handle(buf1, &tmp_buf1_0));\n"
            "auto buf2 = RAIIAtenTensorHandle(tmp_buf1_0);",
            [Share("buf2", "buf1")],
        ),
    ],
)
def test_a_line(lines: str, events: list[Event]) -> None:
    found = read(lines)
    assert found.unread == 0
    assert list(found.events) == [Inputs(()), *events, Return(())]


def test_inputs_and_constants_are_taken_and_outputs_given() -> None:
    found = read(
        "auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 1);\n"
        "auto arg1_1 = std::move(inputs[0]);\n"
        "[[maybe_unused]] auto& up_weight = constants_->at(0);\n"
        "output_handles[1] = buf1.release();\n"
        "output_handles[0] = buf0.release();\n"
        "output_handles[2] = output_handles[0];"
    )
    assert found.events == (Inputs(("arg1_1", "up_weight")), Return(("buf0", "buf1", "buf0")))


def test_an_allocation_has_the_bytes_of_its_arrays_and_of_open_sizes() -> None:
    made = (
        "AtenTensorHandle {0}_handle;\n"
        f"{CHECKED}(aoti_torch_empty_strided({{1}}, {{2}}, {{3}}, cached_torch_dtype_float32, "
        "cached_torch_device_type_cpu, this->device_idx_, &{0}_handle));\n"
        "RAIIAtenTensorHandle {0}({0}_handle);\n"
    )
    text = (
        "auto arg0_1_size = arg0_1.sizes();\n"
        "int64_t s17 = arg0_1_size[0];\n"
        "int64_t s77 = s17;\n"
        "const int64_t int_array_0[] = {s77, 3L};\n"
        "static constexpr int64_t int_array_1[] = {3L, 1L};\n"
        "static constexpr int64_t *int_array_2=nullptr;\n"
        + made.format("buf0", 2, "int_array_0", "int_array_1")
        + made.format("buf1", 0, "int_array_2", "int_array_2")
    )
    known, open_ = read(text, s17=5), read(text)
    assert known.events[1:3] == (Allocate("buf0", 60), Allocate("buf1", 4))
    assert known.is_sized_by_hint
    assert open_.events[1:3] == (Allocate("buf0", None), Allocate("buf1", 4))


def test_a_library_call_with_several_results() -> None:
    found = read(
        "AtenTensorHandle buf2_handle;\n"
        "AtenTensorHandle buf3_handle;\n"
        f"{CHECKED}(aoti_torch_cpu_sort_stable(arg0_1, 0, &buf2_handle, &buf3_handle));\n"
        "RAIIAtenTensorHandle buf2(buf2_handle);\n"
        "RAIIAtenTensorHandle buf3(buf3_handle);"
    )
    whole = "results of buf2"
    assert found.events[1:-1] == (
        Call("aoti_torch_cpu_sort_stable", whole),
        Share("buf2", whole, 0),
        Share("buf3", whole, 1),
        Drop(whole),
    )


def test_a_branch_and_a_line_that_is_not_known_are_counted_and_left_out() -> None:
    found = read(
        "if (u0) {\n    cpp_fused_0(buf0);\n} else {\n    cpp_fused_1(buf0);\n}\n"
        "auto buf9 = aoti_torch_something_new(buf0);\n"
        "cpp_fused_2(buf0);"
    )
    assert found.events[1:-1] == (Call("cpp_fused_2"),)
    assert found.branches == 1
    assert found.unread == 1


def test_a_check_of_alignment_is_no_branch() -> None:
    found = read(
        "if ((reinterpret_cast<std::uintptr_t>(arg0_1.data_ptr()) & (16 -1)) != 0) {\n"
        "    AtenTensorHandle arg0_1_aligned;\n"
        "    aoti_torch_clone_preserve_strides(arg0_1, &arg0_1_aligned);\n"
        "}\n"
        "cpp_fused_0(buf0);"
    )
    assert found.events[1:-1] == (Call("cpp_fused_0"),)
    assert found.branches == found.unread == 0


@pytest.mark.parametrize("text", ["def call(args): ...", "#include <torch/torch.h>"])
def test_what_is_no_program_in_cpp(text: str) -> None:
    assert not is_cpp_program(text)
