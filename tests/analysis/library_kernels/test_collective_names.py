"""Names of kernels that exchange data with other ranks, as profiles and sources have them."""

from __future__ import annotations

import pytest

from workbench.analysis.library_kernels.kernel_names import (
    is_collective,
    name_collective,
    read_kernel_name,
)

COLLECTIVES = {
    "void <unnamed>::multimem_all_reduce_kernel<c10::BFloat16, (int)16>(...)": (
        "symmetric memory",
        "allreduce",
    ),
    "void (anonymous namespace)::multimem_all_gather_kernel<16>(char*, char*)": (
        "symmetric memory",
        "allgather",
    ),
    "one_shot_all_reduce_kernel_optimized": ("symmetric memory", "allreduce"),
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals)": (
        "custom all-reduce",
        "allreduce",
    ),
    "void vllm::cross_device_reduce_2stage<__half, 8>(vllm::RankData*)": (
        "custom all-reduce",
        "allreduce",
    ),
    "_ZN5aiter33reduce_scatter_cross_device_storeIDF16bLi8EEEvPNS_8RankDataE": (
        "custom all-reduce",
        "reducescatter",
    ),
    "void aiter::cross_device_reduce_2stage<__hip_bfloat16, 8, false>(aiter::RankData*)": (
        "custom all-reduce",
        "allreduce",
    ),
    "void aiter::reduce_scatter_cross_device_store<opus::bf16, 8>(aiter::RankData*)": (
        "custom all-reduce",
        "reducescatter",
    ),
    "void quickreduce::allreduce_prototype_twoshot<AllReduceTwoshot<__half, CodecFP>, __half>": (
        "quickreduce",
        "allreduce",
    ),
    "void rdxn_on_stream_kernel<float, (rdxn_ops)3>(int, float*)": ("NVSHMEM", "allreduce"),
    "nvshmemi_barrier_on_stream_kernel": ("NVSHMEM", "barrier"),
    "void barrier_on_stream_kernel_threadgroup<(threadgroup_t)2>(int, int)": ("NVSHMEM", "barrier"),
    "void alltoall_on_stream_kernel<float>(int, float*, float const*, unsigned long)": (
        "NVSHMEM",
        "alltoall",
    ),
    "(anonymous namespace)::exchangeSplitAndOffset(long*, int, int)": (
        "symmetric memory",
        "alltoall",
    ),
    "void c10d::nvshmem_extension::allToAllV(void*, void*, long*, int, int)": (
        "symmetric memory",
        "alltoall",
    ),
    "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*, float*, int*)": (
        "DeepEP",
        "dispatch",
    ),
    "void deep_ep::internode_ll::combine<(bool)0, (int)6144, (int)11, (int)4>(void *)": (
        "DeepEP",
        "combine",
    ),
    "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)": ("DeepEP", "dispatch"),
    "void deep_ep::intranode::combine<__nv_bfloat16, (int)8, (int)768, (int)4096>(T1 *, float *)": (
        "DeepEP",
        "combine",
    ),
    "void deep_ep::intranode::cached_notify_combine<8>(void**)": ("DeepEP", "combine"),
    "void primus_turbo::deep_ep::intranode::cached_notify_dispatch<8>(int const*)": (
        "DeepEP",
        "dispatch",
    ),
    "void deep_ep::internode::notify_dispatch<false, 4>(int const*)": ("DeepEP", "dispatch"),
    "void userbuffers_fp16_sum_inplace_gpu_rr_rs<2>(int)": ("userbuffers", "reducescatter"),
    "void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop_fp8<2, __nv_fp8_e4m3>(int)": (
        "userbuffers",
        "reducescatter",
    ),
    "userbuffers_fp16_sum_inplace_gpu_mc(int, int)": ("userbuffers", "allreduce"),
    "void transformer_engine::userbuffers_fp16_sum_inplace_gpu_mc_ag<8>(int)": (
        "userbuffers",
        "allgather",
    ),
    "kuserbuffers_pushsend(int*, int*, int4*, int4*, int)": ("userbuffers", "sendrecv"),
    "kuserbuffers_pushrecv(int, int, int*, int*, int, unsigned long)": ("userbuffers", "sendrecv"),
    "userbuffers_fp16_sum_gpu_mc_rmsnorm": ("userbuffers", "allreduce"),
    "EpDispatchIntraNodeKernel_bf16": ("expert exchange", "dispatch"),
    "void dlslime::intranode_alltoall_kernel<8>(void*)": ("expert exchange", "alltoall"),
    "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC": ("NCCL or RCCL", "allreduce"),
    "ncclSymkDevKernel_ReduceScatter_LL_sum_f8e4m3(ncclSymkDevWorkArgs4K)": (
        "NCCL or RCCL",
        "reducescatter",
    ),
    "void moeA2ADispatchKernel<8>(x)": ("expert exchange", "dispatch"),
    "void tensorrt_llm::kernels::moe_comm::moeA2ACombineKernel<__nv_bfloat16>(p)": (
        "expert exchange",
        "combine",
    ),
    "void mscclpp_allreduce6<float>(x)": ("MSCCL++", "allreduce"),
}
OTHERS = [
    "aiter::local_device_load_rmsnorm_512n",
    "void deep_ep::layout::get_dispatch_layout<256, 32, 4>(long const*)",
    "gemm_one_shot_all_reduce_kernel",
    "void dispatch_bins_kernel<4>(int)",
    "void at::native::_scatter_gather_elementwise_kernel<128, 8>(int)",
    "triton_red_fused_all_reduce_add_3",
    "void splitKreduce_kernel<32, 16, int>(x)",
]


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_collective_is_known_by_its_kernel(name: str) -> None:
    kernel = read_kernel_name(name)
    assert (kernel.kind, kernel.library) == ("collective", COLLECTIVES[name][0])
    assert name_collective(name) == COLLECTIVES[name][1]


@pytest.mark.parametrize("name", OTHERS)
def test_what_stays_on_its_own_gpu_is_not_a_collective(name: str) -> None:
    assert not is_collective(name)
