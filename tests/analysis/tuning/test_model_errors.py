"""What is said of the model's error is what the record of winners has."""

from __future__ import annotations

import json
from math import floor

from tests.bench.winner_ranks import ERRORS, GPU, PAGE, RECORD, make_errors, time_configs
from workbench.analysis.kernel_time import loop_times
from workbench.analysis.kernel_time.product_times import load_parameters
from workbench.analysis.tuning.tuned import describe_error, load_errors
from workbench.handles.recompilable import Recompilable


def test_the_figures_are_those_of_the_record_and_the_page() -> None:
    assert ERRORS.read_text() == make_errors(json.loads(RECORD.read_text()), PAGE.read_text())


def test_each_gpu_has_its_figures_and_an_unknown_one_is_said_to_have_none() -> None:
    told = describe_error("product with scales", ["h100", "rtx4090"])
    assert told.startswith("Modelled, not measured. Of 198 published winners")
    assert "On rtx4090 it was never compared with a real GPU." in told
    assert "winners of products of experts on b200" in describe_error(
        "product of experts", ["b200"]
    )


def test_the_error_is_that_of_the_order_that_was_used() -> None:
    row = load_errors()["moe"]["h100"]
    alone, both = (describe_error("product of experts", ["h100"], used) for used in ((), ("h100",)))
    assert f"{floor(row['five'] * 100)} % were among its first five" in alone
    assert f"{floor(row['published']['five'] * 100)} % were among its first five" in both
    assert "in its first fifth with what won for other sizes." in both
    assert "what won for other sizes" not in alone


def test_other_kernels_name_what_was_timed() -> None:
    assert "for four kernels of Inductor" in describe_error("reduction", ["h100"])


def test_products_without_scales_are_said_to_be_not_compared() -> None:
    assert "as this one, were not compared" in describe_error("product", ["h100"])
    assert "as this one" not in describe_error("product with scales", ["h100"])


def test_what_is_said_of_generated_kernels_is_what_a_gpu_took() -> None:
    told = time_configs(json.loads(GPU.read_text()))
    low, most = told["first"]
    assert most == 2.95
    assert f"{low:.2f} to {most:.2f} times the fastest" in describe_error("pointwise", ["h100"])
    five = " to ".join(f"{each:.2f}" for each in told["five"])
    for text in (Recompilable.rank_configs.__doc__, loop_times.__doc__):
        words = " ".join((text or "").split())
        assert f"{low:.2f} to {most:.2f} times the fastest" in words
        assert f"{five} times" in words


def test_experts_have_the_parameters_that_were_fitted_to_them() -> None:
    assert load_parameters(experts=True).keys() == load_parameters().keys()
    assert load_parameters(experts=True) != load_parameters()
