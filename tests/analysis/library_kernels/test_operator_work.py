"""Operations and bytes of calls, as torch.profiler writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from workbench.analysis.library_kernels.kernel_names import LibraryKernel, read_kernel_name
from workbench.analysis.library_kernels.operator_work import (
    OperatorCall,
    estimate_work,
    fill_causal,
    read_operator_kind,
)

BF16 = "c10::BFloat16"


def call(
    name: str, *inputs: tuple[Any, str], strides: Sequence[Any] = (), concrete: Sequence[str] = ()
) -> OperatorCall:
    shapes, dtypes = zip(*inputs, strict=True)
    return OperatorCall(name, shapes, dtypes, strides, concrete)


def test_a_product_reads_its_factors_and_writes_its_result() -> None:
    work = estimate_work(call("aten::mm", ([64, 128], BF16), ([128, 32], BF16)))
    assert work.operations == 2 * 64 * 128 * 32
    assert work.bytes == 2 * (64 * 128 + 128 * 32 + 64 * 32)
    assert work.product == (1, 64, 32, 128)
    assert work.is_matrix
    assert work.dtype == "bfloat16"


def test_addmm_reads_a_bias_that_is_expanded_once() -> None:
    mine = call(
        "aten::addmm",
        ([32], "float"),
        ([64, 128], "float"),
        ([128, 32], "float"),
        concrete=["", "", "", "1", "1"],
    )
    assert estimate_work(mine).bytes == 4 * (32 + 64 * 128 + 128 * 32 + 64 * 32)


def test_an_expanded_factor_counts_once() -> None:
    mine = call(
        "aten::bmm",
        ([8, 4, 16], "float"),
        ([8, 16, 4], "float"),
        strides=[[64, 16, 1], [0, 4, 1]],
    )
    assert estimate_work(mine).read_bytes == 4 * (8 * 64 + 64)


def test_windows_that_overlap_in_memory_count_once() -> None:
    mine = call("aten::neg", ([10, 4], "float"), strides=[[1, 1]])
    assert estimate_work(mine).read_bytes == 4 * 13


def test_the_kernel_says_which_gradient_of_a_convolution_it_is() -> None:
    inputs = (([2, 8, 4, 4], BF16), ([2, 3, 4, 4], BF16), ([8, 3, 3, 3], BF16))
    rest = [([], "ScalarList")] * 4
    mine = call(
        "aten::convolution_backward",
        *inputs,
        *rest,
        concrete=["", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"],
    )
    operations = 2 * 2 * 16 * 8 * 27
    for part, written in (("input gradient", 2 * 3 * 16), ("weight gradient", 8 * 27)):
        work = estimate_work(mine, LibraryKernel("", "product", part=part))  # type: ignore[arg-type]
        assert (work.operations, work.written_bytes) == (operations, 2 * written)
    silent = estimate_work(mine, LibraryKernel("", "product"))
    assert silent.operations is None
    assert silent.reason is not None


def test_a_convolution_takes_its_output_from_padding_and_stride() -> None:
    mine = call(
        "aten::cudnn_convolution",
        ([1, 3, 224, 224], BF16),
        ([64, 3, 7, 7], BF16),
        concrete=["", "", "[3, 3]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"],
    )
    work = estimate_work(mine)
    assert work.written_bytes == 2 * 64 * 112 * 112
    assert work.product == (1, 112 * 112, 64, 147)


@pytest.mark.parametrize(("causal", "pairs"), [("False", 64 * 64), ("True", 64 * 65 // 2)])
def test_attention_counts_the_scores_that_are_needed(causal: str, pairs: int) -> None:
    heads = ([2, 64, 4, 32], BF16)
    mine = call(
        "aten::_flash_attention_forward",
        heads,
        heads,
        heads,
        *[([], "")] * 4,
        ([], "Scalar"),
        ([], "Scalar"),
        concrete=["", "", "", "", "", "64", "64", "0.", causal],
    )
    assert estimate_work(mine).operations == 2 * 8 * pairs * 64


def test_packed_sequences_are_not_guessed() -> None:
    heads = ([100, 4, 32], BF16)
    mine = call("aten::_flash_attention_forward", heads, heads, heads, ([5], "int"))
    assert estimate_work(mine).reason == "profiles do not record the lengths of packed sequences"


def test_an_elementwise_operator_reads_what_is_broadcast_once() -> None:
    mine = call("aten::add", ([64, 128], BF16), ([128], "float"), ([], "Scalar"))
    work = estimate_work(mine)
    assert work.read_bytes == 2 * 64 * 128 + 4 * 128
    assert work.written_bytes == 4 * 64 * 128


def test_numbers_of_python_decide_no_dtype() -> None:
    mine = call("aten::mul", ([64], BF16), ([], "double"))
    assert estimate_work(mine).written_bytes == 128


def test_a_comparison_writes_bytes() -> None:
    assert estimate_work(call("aten::gt", ([64], BF16), ([], "Scalar"))).written_bytes == 64


def test_a_result_given_beforehand_is_not_read() -> None:
    mine = call("aten::mul", ([64], "float"), ([64], "float"), ([64], "float"))
    assert estimate_work(mine).bytes == 3 * 4 * 64


def test_a_copy_into_another_layout_is_strided() -> None:
    mine = call(
        "aten::copy_",
        ([64, 32], BF16),
        ([64, 32], BF16),
        strides=[[32, 1], [1, 64]],
    )
    assert estimate_work(mine).is_strided
    straight = call("aten::copy_", ([64, 32], BF16), ([64, 32], BF16))
    assert not estimate_work(straight).is_strided


def test_a_list_has_its_dtype_from_the_kernel() -> None:
    mine = call("aten::cat", ([[4, 8], [2, 8]], "TensorList"), ([], "Scalar"))
    assert estimate_work(mine).bytes is None
    assert estimate_work(mine, LibraryKernel("", "copy", itemsize=2)).bytes == 2 * 2 * 48


def test_rows_taken_by_indices_are_counted_apart() -> None:
    mine = call("aten::embedding", ([1000, 64], BF16), ([2, 8], "long int"))
    work = estimate_work(mine)
    assert (work.bytes, work.gathered_bytes) == (2 * 16 * 64 + 16 * 8, 2 * 16 * 64)


def test_helpers_of_a_product_are_given_none_of_its_work() -> None:
    mine = call("aten::mm", ([64, 128], BF16), ([128, 32], BF16))
    for name in ("void cublasLt::splitKreduce_kernel<32>", "Memset (Device)"):
        assert estimate_work(mine, read_kernel_name(name)).operations is None


def test_kernels_that_share_a_call_are_given_equal_parts() -> None:
    mine = call("aten::neg", ([64], "float"))
    work = estimate_work(mine, launches=2)
    assert (work.read_bytes, work.launches) == (128, 2)
    assert work.reason == "2 kernels share the work; equal shares are assumed"


def test_a_triton_kernel_moves_its_arguments_once() -> None:
    mine = call(
        "triton_poi_fused_add_0",
        ([64, 128], BF16),
        ([4096, 128], BF16),
        ([], "Scalar"),
        concrete=["", "", "8192"],
    )
    work = estimate_work(mine, read_kernel_name(mine.name))
    assert work.bytes == 2 * 2 * 8192  # no more of the second than the kernel has elements


@pytest.mark.parametrize(
    "name", ["aten::mm", "aten::copy_", "aten::cat", "aten::sum", "triton_poi_x"]
)
def test_a_call_without_shapes_has_a_reason(name: str) -> None:
    work = estimate_work(OperatorCall(name), read_kernel_name(name))
    assert work.bytes is None
    assert work.reason is not None


def test_an_operator_that_is_not_known_is_not_guessed() -> None:
    work = estimate_work(call("mine::op", ([64], "float")))
    assert work.bytes is None
    assert work.reason == "the traffic and operations of mine::op are not known"


@pytest.mark.parametrize("text", ["[" * 900, "['a']", "{}", "9" * 5000, "__import__('os')", "[1, "])
def test_what_stands_for_a_number_and_is_none_is_not_read(text: str) -> None:
    assert OperatorCall("aten::sum", [[4]], ["float"], (), ["", text]).value(1) is None


def test_sizes_that_no_device_holds_are_no_tensor() -> None:
    hostile = OperatorCall("aten::mm", [[10**300, 2], "x"], ["float", ["float"]])
    assert estimate_work(hostile).operations is None


@pytest.mark.parametrize("name", ["aten::mm", "aten::addmm", "aten::linear", "aten::bmm"])
def test_shapes_that_are_none_of_the_operator_tell_nothing(name: str) -> None:
    work = estimate_work(call(name, ([4, 4], BF16), ([], BF16), ([], BF16)))
    assert work.operations is None
    assert work.reason


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::addmm", "product"),
        ("aten::mkldnn_convolution", "product"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("aten::gelu_backward", "elementwise"),
        ("aten::native_layer_norm", "reduction"),
        ("aten::_softmax", "reduction"),
        ("aten::copy_", "copy"),
        ("aten::cat", "copy"),
        ("AddmmBackward0", "other"),
        ("aten::view", "other"),
    ],
)
def test_an_operator_without_a_kernel_has_a_kind_by_its_name(name: str, kind: str) -> None:
    assert read_operator_kind(name) == kind


def test_what_is_written_where_it_was_read_is_told_apart() -> None:
    other, own = (estimate_work(call(name, ([64], BF16), ([64], BF16))) for name in ("add", "add_"))
    assert (other.bytes, other.reused_bytes) == (384, 0)
    assert (own.bytes, own.reused_bytes) == (384, 128)


def test_attention_that_is_written_without_the_flag_is_not_causal() -> None:
    shapes, dtypes = [[1, 8, 64, 32]] * 3, ["c10::BFloat16"] * 3
    call = OperatorCall("aten::_scaled_dot_product_cudnn_attention", shapes, dtypes)
    full = estimate_work(fill_causal(call))
    assert full.operations == 2 * 8 * 64 * 64 * (32 + 32)
    assert full.reason is None


def test_what_makes_scale_and_shift_of_a_group_norm_reads_no_picture() -> None:
    call = OperatorCall("aten::native_group_norm", [[4, 320, 64, 64]], ["c10::Half"])
    kernel = read_kernel_name("void at::native::ComputeFusedParamsCUDAKernel<c10::Half>(long)")
    assert estimate_work(call, kernel).bytes is None
