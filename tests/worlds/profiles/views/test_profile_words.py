"""What kernels are called whose operator the trace does not have."""

from __future__ import annotations

import pytest

from tests.made_profile import make_profile, run
from workbench.worlds.profiles.changes.profiled_kernels import read_kernels
from workbench.worlds.profiles.views.profile_words import name_kernels, say_part, shorten_name

CK = "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_27Rms"
HIP = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void (anonymous namespace)::resolve_ids<long>(long*)", "resolve_ids"),
        ("void at::native::(anonymous namespace)::softmax<float>(float*)", "softmax"),
        (CK, "kentry<Rmsnorm2dFwd>"),
        ("_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel", "elementwise_kernel"),
        ("_ZN8internal5gemvxE", "gemvx"),
        ("_ZN99foo", "_ZN99foo"),
        ("_ZN" + "9" * 5000, "_ZN" + "9" * 56 + "…"),
        ("_topk_forward", "_topk_forward"),
    ],
)
def test_a_name_of_c_plus_plus_is_told_by_what_it_is(name: str, short: str) -> None:
    assert shorten_name(name) == short


def test_a_product_without_an_operator_is_told_by_its_library_and_tile() -> None:
    profile = make_profile(kernels=[run("k0", HIP, "")])
    (words,) = name_kernels(read_kernels(profile, None)).values()
    assert words.title == "hipBLASLt matmul, tile 256 × 192 × 64"


def test_a_small_part_of_a_bound_is_not_said_to_be_nothing() -> None:
    assert [say_part(value) for value in (0.0, 0.001, 0.005, 0.62)] == [
        "0.00",
        "<0.01",
        "0.01",
        "0.62",
    ]
