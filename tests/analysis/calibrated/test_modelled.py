"""Modelled times beside what an H100 and an H200 did, and what is said of their error."""

from __future__ import annotations

import statistics
from collections import defaultdict

import pytest

from tests.bench.trace_rows import OURS, read_rows
from workbench.analysis.calibrated.modelled import model_kernel, model_work
from workbench.analysis.library_kernels.kernel_bounds import bound_kernel
from workbench.analysis.library_kernels.operator_work import OperatorCall, estimate_work
from workbench.specs import Catalogue

GPUS = Catalogue.built_in()
NVJET = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
CALL = OperatorCall("aten::mm", [[4096, 4096], [4096, 4096]], ["c10::BFloat16"] * 2)


def test_a_time_has_its_error_and_what_it_rests_on() -> None:
    made = model_kernel(CALL, NVJET, GPUS["h100"])
    assert made.us == pytest.approx(173, rel=0.15)  # an H100 took 173 µs
    assert made.error is not None
    assert 0 < made.error < 0.9
    assert made.why.startswith("fitted to traces of ")


def test_the_error_of_a_generation_that_was_not_fitted_is_not_known() -> None:
    own, other = (model_kernel(CALL, NVJET, GPUS[name]) for name in ("h100", "b200"))
    assert own.error is not None
    assert other.us is not None
    assert other.error is None
    assert other.why.startswith("no Blackwell GPU was measured: as if it were H100")


def test_a_family_that_was_not_fitted_is_told_with_a_wider_error() -> None:
    call = OperatorCall("aten::mul", [[4096, 4096]] * 2, ["float"] * 2)
    strange = model_kernel(call, "kernel_of_nobody", GPUS["h100"])
    usual = model_kernel(call, "void at::native::vectorized_elementwise_kernel<4, f>", GPUS["h100"])
    assert strange.error is not None
    assert usual.error is not None
    assert strange.error > usual.error
    assert "no kernel of its family was fitted" in strange.why


def test_what_has_no_known_work_has_a_reason_and_no_time() -> None:
    made = model_kernel(OperatorCall("mine::op"), "my_kernel", GPUS["h100"])
    assert (made.us, made.error) == (None, None)
    assert made.why == "what mine::op moves and computes is not known"


def test_no_modelled_time_is_below_its_bound_and_most_are_near() -> None:
    errors = defaultdict(list)
    for path in OURS:
        for row in read_rows(path):
            if row.call is None or row.target is None:
                continue
            gpu = GPUS[row.target]
            work = estimate_work(row.call, row.kernel, launches=row.launches)
            made = model_work(
                row.kernel, work, gpu, blocks=row.kernel.count_blocks(row.grid, row.block)
            )
            if made.us is None:
                continue
            bound = bound_kernel(row.kernel, work, gpu)
            assert bound is None or made.us >= bound.us * (1 - 1e-9)
            errors[row.kernel.kind].append(abs(made.us / row.us - 1))
    assert statistics.median(errors["product"]) < 0.10
    assert statistics.median(errors["elementwise"] + errors["copy"] + errors["reduction"]) < 0.25
