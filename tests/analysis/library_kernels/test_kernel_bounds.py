"""Bounds of kernels beside what an H100 and an H200 did, and words for the slow ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.kernel_times import make_call
from tests.bench.trace_rows import OURS, read_rows
from workbench.analysis.library_kernels.kernel_bounds import bound_kernel, list_slow_reasons
from workbench.analysis.library_kernels.kernel_names import LibraryKernel, read_kernel_name
from workbench.analysis.library_kernels.operator_work import OperatorCall, Work, estimate_work
from workbench.specs import Catalogue

GPUS = Catalogue.built_in()
H100 = GPUS["h100"]
GPU_TESTS = Path(__file__).parents[2] / "gpu"


def test_what_fits_into_the_cache_is_not_bound_by_the_memory() -> None:
    kernel = LibraryKernel("", "copy")
    small, large = (Work(0, n, n, "float32") for n in (10 << 20, 1 << 30))
    bounds = [bound_kernel(kernel, work, H100) for work in (small, large)]
    assert [bound and bound.limit for bound in bounds] == ["cache", "memory"]
    assert bounds[1] is not None
    assert bounds[1].us == pytest.approx((2 << 30) / H100.bandwidth_gbs / 1e3)


def test_float32_counts_as_tf32_until_a_name_says_otherwise() -> None:
    work = Work(10**12, 0, 0, "float32", is_matrix=True)
    silent, plain = (
        bound_kernel(LibraryKernel("", "product", has_matrix_units=has), work, H100)
        for has in (None, False)
    )
    assert silent is not None
    assert plain is not None
    assert plain.us / silent.us == pytest.approx(494.5 / 67)


def test_a_part_of_a_shared_work_has_no_bound() -> None:
    assert bound_kernel(LibraryKernel(""), Work(1, 1, 1, launches=2), H100) is None


@pytest.mark.parametrize("path", OURS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_kernel_of_a_trace_is_faster_than_its_bound(path: Path) -> None:
    counted = 0
    for row in read_rows(path):
        if row.call is None or row.target is None:
            continue
        work = estimate_work(row.call, row.kernel, launches=row.launches)
        bound = bound_kernel(row.kernel, work, GPUS[row.target])
        counted += bound is not None
        assert bound is None or bound.us <= row.us, (row.kernel.name, row.us, bound)
    assert counted > 15


@pytest.mark.parametrize("file", ["operators.json", "operators_h200.json"])
def test_no_single_call_is_faster_than_its_bound(file: str) -> None:
    data = json.loads((GPU_TESTS / file).read_text())
    gpu, counted = GPUS["h200" if "H200" in data["device"] else "h100"], 0
    for row in data["rows"]:
        call = make_call(row["op"], row["dtype"], row["shape"])
        for ran in row.get("kernels", ()):
            kernel = read_kernel_name(ran["name"])
            bound = bound_kernel(kernel, estimate_work(call, kernel), gpu)
            counted += bound is not None
            is_alone = len(row["kernels"]) == 1
            assert bound is None or not is_alone or bound.us <= ran["warm_us"], (row, bound)
    assert counted > 150


def _slow(name: str, call: OperatorCall, grid: tuple[int, ...] = ()) -> list[str]:
    kernel, block = read_kernel_name(name), (256, 1, 1)
    blocks = kernel.count_blocks(grid, block)
    return list_slow_reasons(kernel, estimate_work(call, kernel), H100, call=call, blocks=blocks)


def _product(m: int, n: int, k: int, dtype: str = "c10::BFloat16") -> OperatorCall:
    return OperatorCall("aten::mm", [[m, k], [k, n]], [dtype] * 2, [[k, 1], [n, 1]])


def test_an_odd_size_is_the_reason_for_an_old_kernel() -> None:
    name = "cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1"
    assert _slow(name, _product(4096, 4096, 5185)) == [
        "a Turing kernel (align1) on Hopper, because K = 5,185 is odd: pad to 5,192"
    ]


def test_float32_without_tf32_is_said() -> None:
    (reason,) = _slow(
        "cutlass_80_simt_sgemm_128x32_8x5_nn_align1", _product(256, 256, 256, "float")
    )
    assert reason.startswith("a float32 matmul without TF32")


def test_a_last_wave_that_is_hardly_full_is_said() -> None:
    name = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas"
    assert _slow(name, _product(1664, 1536, 1024)) == [
        "156 tiles on 132 multiprocessors: the last of 2 waves is 18 % full"
    ]
    assert _slow(name, _product(1408, 1536, 1024)) == []  # one wave, full


def test_a_short_sum_is_said() -> None:
    name = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
    assert _slow(name, _product(16384, 16384, 64)) == [
        "K = 64 is short: one iteration of the K loop per output tile"
    ]


def test_few_blocks_and_strided_reads_are_said() -> None:
    name = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >"
    call = OperatorCall("aten::sum", [[65536, 64]], ["float"], [[64, 1]], ["", "[0]"])
    assert _slow(name, call, (2, 1, 1)) == [
        "only 2 blocks on 132 multiprocessors",
        "its accesses are strided: its tensors are not contiguous along the same dimension",
    ]


def test_a_kernel_of_its_own_time_without_a_fault_has_no_reason() -> None:
    name = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
    assert _slow(name, _product(8192, 8192, 8192)) == []
    assert _slow("my_kernel", OperatorCall("mine::op")) == []


def test_a_grid_in_threads_is_counted_in_blocks() -> None:
    """In all traces at hand MIOpen, hipBLASLt and rocBLAS write threads, ATen and Triton blocks."""
    call = OperatorCall("aten::copy_", [[1 << 20]] * 2, ["float"] * 2)
    in_threads = LibraryKernel("transpose", "copy", library="MIOpen")
    for kernel, blocks in ((in_threads, 20), (LibraryKernel("copy", "copy", library="ATen"), 5120)):
        made = kernel.count_blocks((5120, 1, 1), (256, 1, 1))
        assert made == blocks
        said = list_slow_reasons(kernel, estimate_work(call, kernel), H100, call=call, blocks=made)
        assert ("only 20 blocks on 132 multiprocessors" in said) == (blocks == 20)
