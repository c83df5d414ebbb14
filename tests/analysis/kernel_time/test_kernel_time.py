"""Modelled times beside what an H100 and an H200 did, and what is said of their error."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

import pytest

from tests.bench.trace_rows import OURS, read_rows
from workbench.analysis.kernel_time.inner_loop import InnerLoop
from workbench.analysis.kernel_time.kernel_time import (
    Division,
    KernelTime,
    LibraryCall,
    LibraryLaunch,
    LoopLaunch,
    ProductTile,
    ProductWork,
    TemplateTile,
    TemplateWork,
    time_kernel,
)
from workbench.analysis.library_kernels.kernel_bounds import bound_kernel
from workbench.analysis.library_kernels.kernel_names import read_kernel_name
from workbench.analysis.library_kernels.operator_work import OperatorCall, Work, estimate_work
from workbench.specs import Catalogue, Gpu

GPUS = Catalogue.built_in()
NVJET = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
CALL = OperatorCall("aten::mm", [[4096, 4096], [4096, 4096]], ["c10::BFloat16"] * 2)


def model_kernel(call: OperatorCall, name: str, gpu: Gpu) -> KernelTime:
    kernel = read_kernel_name(name)
    return time_kernel(estimate_work(call, kernel), LibraryLaunch(kernel), gpu)


def test_a_time_has_its_error_and_what_it_rests_on() -> None:
    made = model_kernel(CALL, NVJET, GPUS["h100"])
    assert made.us == pytest.approx(173, rel=0.15)  # an H100 took 173 µs
    assert made.error is not None
    assert 0 < made.error < 0.9
    assert made.because.startswith("fitted to traces of ")


def test_the_error_of_a_generation_that_was_not_fitted_is_not_known() -> None:
    own, other = (model_kernel(CALL, NVJET, GPUS[name]) for name in ("h100", "b200"))
    assert own.error is not None
    assert other.us is not None
    assert other.error is None
    assert other.because.startswith("no Blackwell GPU was measured: modelled like H100")


def test_a_family_that_was_not_fitted_is_told_with_a_wider_error() -> None:
    call = OperatorCall("aten::mul", [[4096, 4096]] * 2, ["float"] * 2)
    strange = model_kernel(call, "kernel_of_nobody", GPUS["h100"])
    usual = model_kernel(call, "void at::native::vectorized_elementwise_kernel<4, f>", GPUS["h100"])
    assert strange.error is not None
    assert usual.error is not None
    assert strange.error > usual.error
    assert "no kernel of its family was fitted" in strange.because


def test_what_has_no_known_work_has_a_reason_and_no_time() -> None:
    made = model_kernel(OperatorCall("mine::op"), "my_kernel", GPUS["h100"])
    assert (made.us, made.error) == (None, None)
    assert made.because == "the traffic and operations of mine::op are not known"


def test_no_modelled_time_is_below_its_bound_and_most_are_near() -> None:
    errors = defaultdict(list)
    for path in OURS:
        for row in read_rows(path):
            if row.call is None or row.target is None:
                continue
            gpu = GPUS[row.target]
            work = estimate_work(row.call, row.kernel, launches=row.launches)
            blocks = row.kernel.count_blocks(row.grid, row.block)
            made = time_kernel(work, LibraryLaunch(row.kernel, blocks), gpu)
            if made.us is None:
                continue
            bound = bound_kernel(row.kernel, work, gpu)
            assert made.bound_us == (None if bound is None else bound.us)
            assert bound is None or made.us >= bound.us * (1 - 1e-9)
            errors[row.kernel.kind].append(abs(made.us / row.us - 1))
    assert statistics.median(errors["product"]) < 0.10
    assert statistics.median(errors["elementwise"] + errors["copy"] + errors["reduction"]) < 0.25


LOOP = InnerLoop(247, "warp group", 0, 3, 9)
PRODUCT = ProductWork(4, 7168, 2048, 15e6, 4e6, 1, 1, 1979.0, operations=7.5e9)
LAUNCHES: dict[str, tuple[Any, Any]] = {
    "a kernel by its name": (Work(0, 1 << 26, 1 << 26), LibraryLaunch(read_kernel_name("mine"))),
    "a library that chooses": (
        estimate_work(CALL, read_kernel_name(NVJET)),
        LibraryCall("extern_kernels.mm"),
    ),
    "a loop": (Work(1 << 24, 1 << 26, 1 << 26), LoopLaunch(Division(4096, run=256), 8, 256)),
    "a product": (PRODUCT, ProductTile(64, 128, 128, 4, 3, 2, LOOP)),
    "a template": (
        TemplateWork(1, 4096, 4096, 4096, 2, 2, 989.5),
        TemplateTile(128, 128, 64, 8, 4),
    ),
    "a choice of the autotuner": (TemplateWork(1, 512, 512, 512, 2, 2, 989.5), LibraryCall("mm")),
}


@pytest.mark.parametrize("launch", LAUNCHES)
def test_one_function_gives_each_launch_a_time_a_bound_and_why(launch: str) -> None:
    made = time_kernel(*LAUNCHES[launch], GPUS["h100"])
    assert made.us is not None
    assert made.bound_us
    assert made.us >= made.bound_us
    assert made.because


def test_a_launch_of_other_work_is_refused() -> None:
    with pytest.raises(TypeError, match="TemplateTile is not a launch of Work"):
        time_kernel(Work(0, 1, 1), TemplateTile(64, 64, 32, 4, 2), GPUS["h100"])
