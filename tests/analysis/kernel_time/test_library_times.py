"""What the model of kernel times is made of: each part shows where it should."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.analysis.kernel_time.calibration import choose_calibration, load_calibrations
from workbench.analysis.kernel_time.library_times import (
    count_missed_bytes,
    estimate_us,
    name_family,
)
from workbench.analysis.library_kernels.kernel_names import LibraryKernel, read_kernel_name
from workbench.analysis.library_kernels.operator_work import Work
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
FIT = choose_calibration(H100).calibration
NVJET = read_kernel_name("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT")
TURING = read_kernel_name("cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1")
ADD = read_kernel_name(
    "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add>"
)


def product(m: int, n: int, k: int) -> Work:
    return Work(
        2 * m * n * k,
        2 * (m * k + k * n),
        2 * m * n,
        "bfloat16",
        is_matrix=True,
        product=(1, m, n, k),
        elements=m * n,
    )


def time_of(kernel: LibraryKernel, work: Work, **more: int) -> float:
    us = estimate_us(kernel, work, H100, FIT, **more)
    assert us is not None
    return us


def test_a_wave_that_is_hardly_full_costs_a_whole_one() -> None:
    full = product(128 * 12, 256 * 11, 4096)  # one tile for each multiprocessor
    more = product(128 * 12, 256 * 12, 4096)
    assert time_of(NVJET, more) > 1.5 * time_of(NVJET, full)


def test_a_short_sum_reaches_less_of_the_peak() -> None:
    deep, short = product(8192, 8192, 1024), product(8192, 8192, 64)
    assert time_of(NVJET, short) > 1.5 * time_of(NVJET, deep) / 16


def test_a_kernel_of_an_older_generation_reaches_less() -> None:
    work = product(8192, 8192, 1024)
    assert time_of(TURING, work) > 3 * time_of(NVJET, work)


def test_small_kernels_take_their_latency() -> None:
    assert time_of(NVJET, product(64, 64, 64)) < 6
    assert time_of(ADD, Work(1024, 4096, 2048, "bfloat16", elements=1024)) < 2


@pytest.mark.parametrize(("moved", "missed"), [(10, 0), (60, 20), (100, 100), (400, 400)])
def test_what_exceeds_the_cache_counts_twice_until_all_of_it_does(moved: int, missed: int) -> None:
    mib = 1 << 20
    assert count_missed_bytes(moved * mib, H100, 1.0) == missed * mib


def test_one_block_goes_no_faster_for_the_others() -> None:
    kernel = read_kernel_name(
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >"
    )
    work = Work(10**8, 4 * 10**8, 4, "float32", rows=(1, 10**8), elements=10**8)
    assert time_of(kernel, work, blocks=1) > 20 * time_of(kernel, work, blocks=1000)


def test_what_is_not_known_has_no_time() -> None:
    assert estimate_us(ADD, Work(reason="no shapes"), H100, FIT) is None


@pytest.mark.parametrize(
    ("name", "strided", "family"),
    [
        ("void at::native::vectorized_elementwise_kernel<4, f>", False, "vectorized"),
        ("void at::native::elementwise_kernel<128, 4, f>", False, "strided"),
        ("void at::native::elementwise_kernel<128, 4, f>", True, "transposed_math"),
        (
            "void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda>",
            True,
            "transposed",
        ),
        ("triton_poi_fused_gelu_0", False, "triton_math"),
        ("triton_red_fused_sum_0", False, "triton_reduction"),
        ("Memcpy DtoD (Device -> Device)", False, "driver"),
        ("void cutlass_of_nobody()", False, "usual"),
    ],
)
def test_movers_go_with_those_that_read_in_the_same_manner(
    name: str, strided: bool, family: str
) -> None:
    assert name_family(read_kernel_name(name), replace(Work(), is_strided=strided)) == family


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("void at::native::vectorized_gather_kernel<16, long>(char*)", "vectorized"),
        ("void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16>", "lookup"),
        ("void at::native::batch_norm_backward_kernel<c10::BFloat16>", "batch_norm_backward"),
        ("void at::native::batch_norm_collect_statistics_kernel<float>", "batch_norm"),
        ("triton_poi_fused_exp_mul_0", "triton_math"),
        ("triton_poi_fused_clone_expand_view_0", "triton_pointwise"),  # no exponential
    ],
)
def test_kernels_that_read_in_another_manner_are_a_family_of_their_own(
    name: str, family: str
) -> None:
    assert name_family(read_kernel_name(name), Work(0, 4096, 4096, "bfloat16")) == family


def test_a_norm_of_short_rows_takes_its_clocks_for_each_row() -> None:
    """491,520 rows of 128 took an MI300X 390 µs, ten times their bound; 15,360 of 4096 took 72."""
    norm = LibraryKernel("norm", "reduction", family="norm")
    short, long = (
        Work(0, 2 * n * length, 2 * n * length, "bfloat16", elements=n * length, rows=(n, length))
        for n, length in ((1 << 17, 128), (1 << 12, 4096))
    )
    assert time_of(norm, short) > 2 * time_of(norm, long)


def test_no_cache_is_slower_than_its_memory() -> None:
    for one in load_calibrations():
        assert one.value("mover.cached") >= 1.0


def test_more_blocks_than_tiles_share_the_sum_though_no_name_says_it() -> None:
    sgemm = read_kernel_name("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>")
    work = replace(product(512, 2048, 12_544), dtype="float32")
    alone, shared = (time_of(sgemm, work, blocks=blocks) for blocks in (32, 128))
    assert shared < 0.35 * alone  # 503 µs on an H200, which 128 blocks took


def test_heads_are_filled_up_to_a_multiple_of_32() -> None:
    flash = read_kernel_name("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16")
    work = Work(
        4 * 32 * 4096**2 * 40,
        3 * 32 * 4096 * 80,
        32 * 4096 * 80,
        "float16",
        is_matrix=True,
        product=(32, 4096, 4096, 40),
        elements=32 * 4096 * 40,
    )
    assert time_of(flash, work) == pytest.approx(300, rel=0.25)  # 298 to 305 µs on an H200


def test_each_value_of_a_depthwise_convolution_is_a_sum_of_its_own() -> None:
    kernel = read_kernel_name("void at::native::conv_depthwise2d_forward_kernel<bf16>")
    work = Work(
        2 * 6_553_600 * 31,
        13_000_000,
        13_000_000,
        "bfloat16",
        product=(512, 12_800, 1, 31),
        channels=1,
        elements=6_553_600,
    )
    assert name_family(kernel, work) == "depthwise"
    assert time_of(kernel, work) > 3 * time_of(kernel, replace(work, operations=2 * 6_553_600))
