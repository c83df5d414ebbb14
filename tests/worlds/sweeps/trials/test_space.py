"""What `over` may say, and the settings that come of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workbench.errors import UsageError
from workbench.worlds.sweeps.trials.case import build_case
from workbench.worlds.sweeps.trials.space import Space


def texts(space: Space) -> list[str]:
    return [", ".join(f"{n}={v}" for n, v in setting.texts) for setting in space.grid()]


def test_the_grid_goes_through_every_combination() -> None:
    space = Space.of({"mode": ["default", "max-autotune"], "batch": [1, 8]}, ["batch"])
    assert texts(space) == [
        "mode=default, batch=1",
        "mode=default, batch=8",
        "mode=max-autotune, batch=1",
        "mode=max-autotune, batch=8",
    ]
    assert space.size == 4


def test_options_sizes_and_axes_are_told_apart() -> None:
    over = {"dtype": [torch.float16], "batch": [4], "max_fusion_size": [8], "threads": [2]}
    (setting,) = Space.of(over, ["batch"]).grid()
    assert setting.sizes == (("batch", 4),)
    assert setting.options == (("max_fusion_size", 8),)
    assert (setting.get("dtype"), setting.get("threads")) == (torch.float16, 2)
    assert setting.texts[0] == ("dtype", "float16")


def test_another_backend_has_neither_mode_nor_options() -> None:
    over = {
        "backend": ["eager", "inductor"],
        "mode": ["default", "max-autotune"],
        "max_fusion_size": [8],
    }
    assert texts(Space.of(over)) == [
        "backend=eager",
        "backend=inductor, mode=default, max_fusion_size=8",
        "backend=inductor, mode=max-autotune, max_fusion_size=8",
    ]


def test_dotted_options_of_inductor_are_known() -> None:
    (setting,) = Space.of({"cpp.threads": [1]}).grid()
    assert setting.options == (("cpp.threads", 1),)


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({}, "at least one axis"),
        ({"mode": "default"}, "expected a list of values"),
        ({"mode": []}, "no value"),
        ({"mode": ["default", "default"]}, "default twice"),
        ({"mode": ["max-autotun"]}, "Did you mean 'max-autotune'"),
        ({"moed": ["default"]}, "Did you mean 'mode'"),
        ({"max_fusion_sise": [8]}, "Did you mean 'max_fusion_size'"),
        ({"batch": [8]}, r"args=lambda batch: \(…,\)"),
        ({"backend": ["inducto"]}, "Did you mean 'inductor'"),
        ({"dtype": ["flaot16"]}, "Did you mean 'float16'"),
        ({"dtype": [torch.int8]}, "expected bfloat16"),
        ({"threads": [0]}, "expected positive integers"),
        ({"dynamic": [1]}, "expected True or False"),
        ({"target": ["h10"]}, "h100"),
        ({"max_fusion_size": ["eight"]}, "expected int"),
    ],
)
def test_what_cannot_be_is_refused_with_the_nearest_match(over: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Space.of(over)


def test_a_size_without_values_is_refused() -> None:
    with pytest.raises(UsageError, match="created from batch, width, but over has no width"):
        Space.of({"batch": [1]}, ["batch", "width"])


def test_the_autotuner_is_switched_on_for_what_only_it_does() -> None:
    (setting,) = Space.of({"max_autotune_gemm_backends": ["aten+cpp"]}).grid()
    assert setting.options == (
        ("max_autotune_gemm_backends", "ATEN,CPP"),
        ("max_autotune_gemm", True),
    )
    (setting,) = Space.of({"template": ["CppMicroGemm"], "max_autotune": [True]}).grid()
    assert build_case(len, ((),), {}, setting).options.options == {
        "max_autotune": True,
        "test_configs.autotune_choice_name_regex": "CppMicroGemm",
    }


def test_a_mode_without_the_autotuner_has_no_backends_to_choose_from() -> None:
    over = {"mode": ["default", "max-autotune"], "max_autotune_gemm_backends": ["ATEN", "CPP"]}
    assert texts(Space.of(over)) == [
        "mode=default",
        "mode=max-autotune, max_autotune_gemm_backends=ATEN",
        "mode=max-autotune, max_autotune_gemm_backends=CPP",
    ]


def test_parameters_of_kernels_are_for_virtual_gpus() -> None:
    over = {"target": ["cpu", "h100"], "XBLOCK": [64, 128], "k0.num_warps": [4]}
    found = list(Space.of(over).grid())
    assert [setting.kernels for setting in found] == [
        (),
        (("XBLOCK", 64), ("k0.num_warps", 4)),
        (("XBLOCK", 128), ("k0.num_warps", 4)),
    ]
    assert texts(Space.of(over))[1] == "target=h100, XBLOCK=64, k0.num_warps=4"


def test_a_size_of_the_inputs_may_be_named_like_a_parameter() -> None:
    (setting,) = Space.of({"XBLOCK": [100]}, ["XBLOCK"]).grid()
    assert (setting.sizes, setting.kernels) == ((("XBLOCK", 100),), ())


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"max_autotune_gemm_backends": ["ATEM"]}, "Did you mean 'ATEN'"),
        ({"max_autotune_gemm_backends": ["ATEN,CPU"]}, "Did you mean 'CPP'"),
        ({"max_autotune_gemm_backends": [1]}, "expected a string"),
        ({"template": ["("]}, "expected a regular expression"),
        ({"target": ["h100"], "XBLOK": [64]}, "Did you mean 'XBLOCK'"),
        ({"target": ["h100"], "num_warp": [4]}, "Did you mean 'num_warps'"),
        ({"target": ["h100"], "XBLOCK": [100]}, "powers of two only. Did you mean 128"),
        ({"target": ["h100"], "k0.num_warps": [64]}, "the maximum is 32"),
        ({"target": ["h100"], "num_stages": [0]}, "expected positive integers"),
        ({"XBLOCK": [64]}, r"over=\{'target': \['h100'\], …\}"),
        ({"target": ["cpu"], "k0.XBLOCK": [64]}, "is a Triton parameter"),
    ],
)
def test_what_no_kernel_can_take_is_refused(over: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Space.of(over)
