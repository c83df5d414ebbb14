"""The kernel that a library is taken to start, beside those that it did start on an H200."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.analysis.kernel_time.calibration import choose_calibration
from workbench.analysis.kernel_time.kernel_time import LibraryCall, time_kernel
from workbench.analysis.kernel_time.library_choice import choose_library_kernel
from workbench.analysis.library_kernels.operator_work import OperatorCall, Work, estimate_work
from workbench.specs import Catalogue

H200 = Catalogue.built_in()["h200"]
FIT = choose_calibration(H200).calibration


def describe_product(m: int, n: int, k: int, dtype: str = "c10::BFloat16") -> Work:
    return estimate_work(OperatorCall("aten::mm", [[m, k], [k, n]], [dtype] * 2))


@pytest.mark.parametrize(
    ("sizes", "measured_us"),
    [((2048, 5632, 2048), 60.6), ((2048, 2048, 2048), 24.2), ((1, 32_000, 2048), 32.7)],
)
def test_the_fastest_known_kernel_takes_about_what_the_gpu_took(
    sizes: tuple[int, int, int], measured_us: float
) -> None:
    made = time_kernel(describe_product(*sizes), LibraryCall("extern_kernels.mm"), H200)
    assert made.us == pytest.approx(measured_us, rel=0.2)
    assert made.kind == "product"


def test_a_long_sum_for_few_results_is_taken_in_parts() -> None:
    taken = choose_library_kernel(
        "mm", describe_product(256, 256, 65_536), H200, FIT, may_take_tf32=False
    )
    assert taken.kernel.splits is not None


def test_float32_takes_matrix_units_only_where_tf32_is_allowed() -> None:
    work = describe_product(4096, 4096, 4096, "float")
    plain, tf32 = (
        choose_library_kernel("mm", work, H200, FIT, may_take_tf32=may) for may in (False, True)
    )
    assert plain.kernel.has_matrix_units is False
    assert plain.us is not None
    assert tf32.us is not None
    assert plain.us > 4 * tf32.us


def test_rows_that_begin_anywhere_take_an_older_kernel() -> None:
    odd = choose_library_kernel(
        "mm", describe_product(4096, 513, 4096), H200, FIT, may_take_tf32=False
    )
    even = choose_library_kernel(
        "mm", describe_product(4096, 512, 4096), H200, FIT, may_take_tf32=False
    )
    assert (odd.kernel.architecture, odd.kernel.alignment) == ("sm_80", 1)
    assert even.kernel.architecture == "sm_90"


def test_a_generation_without_known_kernels_takes_the_usual_tile() -> None:
    bare = replace(FIT, kernels={})
    taken = choose_library_kernel(
        "mm", describe_product(512, 512, 512), H200, bare, may_take_tf32=False
    )
    assert taken.kernel.tile is None
    assert taken.us is not None


def test_the_error_of_a_choice_is_no_smaller_than_that_of_a_kernel_that_is_known() -> None:
    made = time_kernel(describe_product(512, 512, 512), LibraryCall("mm"), H200)
    assert made.error is not None
    assert made.error >= FIT.errors["product"]


@pytest.mark.parametrize("dtype", ["double", "signed char"])
def test_a_dtype_that_no_trace_has_is_told_with_a_wider_error(dtype: str) -> None:
    strange = time_kernel(describe_product(512, 512, 512, dtype), LibraryCall("mm"), H200)
    known = time_kernel(describe_product(512, 512, 512), LibraryCall("mm"), H200)
    assert strange.error is not None
    assert known.error is not None
    assert strange.error > 1.5 * known.error
    assert "the traces have no " in strange.because


def test_no_kernel_of_another_vendor_is_taken() -> None:
    gpu = Catalogue.built_in()["mi300x"]
    fit = choose_calibration(gpu).calibration
    for work in (describe_product(64, 1001, 512), describe_product(64, 512, 512, "float")):
        taken = choose_library_kernel("mm", work, gpu, fit, may_take_tf32=False)
        assert not str(taken.kernel.architecture).startswith("sm_")
