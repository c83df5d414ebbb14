"""Names of kernels, as profiles of an H100, a T4 and an MI300X have them."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.analysis.library_kernels.kernel_names import LibraryKernel, read_kernel_name

TENSILE = (
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1_AFC1_GRVWA8"
    "_GRVWB8_GSUAMBSK_GLS0_ISA942_IU1_K1_SK0_SKXCCM0_TLDS1"
)
OLD_TENSILE = "Cijk_Ailk_Bjlk_HHS_BH_MT64x32x64_MI16x16x16x1_SN_GRVW2_GSU4_GSUASB_ISA90a_IU1"
FLASH_2 = (
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 96, 4, "
    "false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 96, 4, "
    "cutlass::bfloat16_t> >, false, true>(pytorch_flash::Flash_fwd_params)"
)
FLASH_3 = (
    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::"
    "CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<"
    "cute::C<128>, cute::C<176>, cute::C<128> >, 128, cutlass::bfloat16_t, float> > > >"
)
KNOWN: dict[str, dict[str, Any]] = {
    "nvjet_sm90_tst_192x96_64x5_2x1_v_bz_coopB_bias_TNT": dict(
        kind="product",
        library="cuBLASLt",
        architecture="sm_90",
        tile=(192, 96, 64),
        stages=5,
        cluster=(2, 1),
        split_k=False,
        layout="tn",
        input_dtype="bfloat16",
        accumulate_dtype="float32",
        epilogue="bias",
    ),
    "nvjet_hsh_64x8_64x16_4x1_v_bz_splitK_TNT": dict(
        library="cuBLASLt",
        architecture=None,
        split_k=True,
        input_dtype="float16",
    ),
    "nvjet_qqtst_128x256_128x5_2x1_v_bz_TNT": dict(input_dtype="float8", tile=(128, 256, 128)),
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute"
    "_segment_k_off_kernel__5x_cublas": dict(
        kind="product",
        library="cuBLAS",
        family="xmma gemm",
        architecture="sm_90",
        tile=(128, 128, 64),
        split_k=False,
        layout="tn",
        input_dtype="bfloat16",
        has_matrix_units=True,
    ),
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4"
    "_alignc4_execute_kernel__5x_cublas": dict(
        input_dtype="float32",
        has_matrix_units=False,
        alignment=4,
        stages=3,
    ),
    "sm90_xmma_wgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32"
    "_warpgroupsize1x1x1_g1_execute_segment_k_on_kernel__5x_cudnn": dict(
        kind="product",
        library="cuDNN",
        part="weight gradient",
        input_dtype="tf32",
        split_k=True,
    ),
    "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>"
    "(cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1::Params)": dict(
        library="CUTLASS",
        architecture="sm_75",
        tile=(128, 128),
        alignment=1,
        layout="nn",
        input_dtype="bfloat16",
        accumulate_dtype="float32",
        has_matrix_units=True,
    ),
    "cutlass_80_simt_sgemm_128x32_8x5_nn_align1": dict(
        architecture="sm_80",
        tile=(128, 32, 8),
        stages=5,
        input_dtype="float32",
        has_matrix_units=False,
    ),
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_relu_f2f_stages_64x4_tn": dict(
        kind="product",
        library="cuBLAS",
        architecture="sm_80",
        tile=(128, 64, 64),
        stages=4,
        alignment=8,
        layout="tn",
        input_dtype="bfloat16",
        epilogue="relu",
    ),
    "volta_sgemm_64x32_sliced1x4_tn": dict(
        architecture="sm_70",
        tile=(64, 32),
        input_dtype="float32",
        has_matrix_units=False,
    ),
    "turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_tn": dict(
        architecture="sm_75",
        tile=(256, 128),
        input_dtype="float16",
    ),
    "cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_2x1x1_0_tnn_align8"
    "_warpspecialized_cooperative_epi_tma": dict(
        architecture="sm_90",
        tile=(128, 128, 64),
        alignment=8,
        layout="tn",
        input_dtype="float16",
    ),
    TENSILE: dict(
        kind="product",
        library="hipBLASLt",
        architecture="gfx942",
        tile=(256, 192, 64),
        layout="tn",
        input_dtype="bfloat16",
        accumulate_dtype="float32",
        stream_k=False,
        split_k=None,
        vector=8,
    ),
    OLD_TENSILE: dict(
        library="rocBLAS",
        architecture="gfx90a",
        layout="nt",
        input_dtype="float16",
        splits=4,
        split_k=True,
    ),
    "igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt64x32x32_wt16x16x16_ws1x1_wr2x1_gkgs": dict(
        kind="product",
        library="MIOpen",
        part="weight gradient",
        architecture="gfx942",
        tile=(64, 32, 32),
        split_k=True,
    ),
    "batched_transpose_16x32_half": dict(kind="copy", part="layout"),
    FLASH_2: dict(
        kind="attention",
        library="flash attention 2",
        architecture="sm_80",
        head_width=64,
        tile=(128, 96),
        input_dtype="bfloat16",
        part="forward",
    ),
    FLASH_3: dict(
        kind="attention",
        library="flash attention 3",
        architecture="sm_90",
        head_width=128,
        tile=(128, 176),
        input_dtype="bfloat16",
    ),
    "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1"
    "_cga1x1x1_kernel0_0": dict(
        kind="attention",
        library="cuDNN",
        part="gradients",
        head_width=64,
        input_dtype=None,  # it says f16 of bfloat16 too
    ),
    "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<>)": dict(
        kind="attention",
        library="memory-efficient attention",
        architecture="sm_80",
        tile=(64, 128),
    ),
    "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>,"
    " std::array<char*, 3ul> >(int)": dict(
        kind="elementwise",
        library="ATen",
        family="vectorized",
        vector=8,
        input_dtype="bfloat16",
    ),
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
    "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}> >": dict(
        kind="copy",
        family="strided",
    ),
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, float> >": dict(
        kind="reduction",
        family="reduce",
    ),
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)"
    "::OpaqueType<2u>, unsigned int, 4, 64, 64>()": dict(kind="copy", family="cat", itemsize=2),
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>": dict(
        kind="reduction",
        part="split sum",
        is_helper=True,
    ),
    "triton_per_fused_native_layer_norm_0": dict(kind="reduction", library="Inductor"),
    "triton_tem_fused_mm_3": dict(kind="product", library="Inductor"),
    "triton_tem_fused_flex_attention_1": dict(kind="attention"),
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": dict(
        kind="collective",
        family="AllReduce",
    ),
    "Memcpy DtoD (Device -> Device)": dict(kind="copy", library="driver", family="copy"),
    "Memset (Device)": dict(kind="copy", family="fill"),
}


@pytest.mark.parametrize("name", KNOWN, ids=[name[:40] for name in KNOWN])
def test_a_name_says_what_the_kernel_is(name: str) -> None:
    found = read_kernel_name(name)
    assert {part: getattr(found, part) for part in KNOWN[name]} == KNOWN[name]


@pytest.mark.parametrize(
    "name", ["", "my_kernel", "Cijk_", "nvjet_", "sm90_xmma_gemm", "x" * 10**6]
)
def test_what_a_name_does_not_say_is_none(name: str) -> None:
    found = read_kernel_name(name)
    told = {part: value for part, value in vars(found).items() if value is not None}
    assert told.keys() <= {
        "name",
        "kind",
        "library",
        "family",
        "architecture",
        "split_k",
        "has_matrix_units",
    }
    assert found.tile is None
    assert found.input_dtype is None


def test_a_name_without_meaning_is_of_no_kind() -> None:
    assert read_kernel_name("my_kernel") == LibraryKernel("my_kernel")


@pytest.mark.parametrize(
    ("name", "dtype", "tile"),
    [
        ("bmm_E4m3_E4m3E4m3_Fp32_t128x8x128u2_s8_et64x8_rM_TN_sm100f", "float8", (128, 8, 128)),
        ("bmm_Bfloat16_E4m3E4m3_Fp32_t128x16x128_s6_TN_transOut", "float8", (128, 16, 128)),
        ("bmm_E2m1E2m1_Fp32_sm100f", None, None),
        ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_bA32_t128x8x512_s5_TN_sm100f", None, (128, 8, 512)),
        ("gemm_Bfloat16_Bfloat16_Fp32_t128x8x128_s4_TN_sm100f", "bfloat16", (128, 8, 128)),
    ],
)
def test_a_product_of_tensorrt_llm(
    name: str, dtype: str | None, tile: tuple[int, ...] | None
) -> None:
    kernel = read_kernel_name(name)
    assert (kernel.kind, kernel.library) == ("product", "TensorRT-LLM")
    assert (kernel.input_dtype, kernel.tile) == (dtype, tile)
