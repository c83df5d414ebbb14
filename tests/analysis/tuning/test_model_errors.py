"""What is said of the model's error is what the record of winners has."""

from __future__ import annotations

import json

from tests.bench.winner_ranks import ERRORS, PAGE, RECORD, make_errors
from workbench.analysis.tuning.model_errors import describe_error


def test_the_figures_are_those_of_the_record_and_the_page() -> None:
    assert ERRORS.read_text() == make_errors(json.loads(RECORD.read_text()), PAGE.read_text())


def test_each_gpu_has_its_figures_and_an_unknown_one_is_said_to_have_none() -> None:
    told = describe_error("product with scales", ["h100", "rtx4090"])
    assert told.startswith("Modelled, not measured. Of 198 published winners")
    assert "On rtx4090 it was never compared with a real GPU." in told
    assert "winners of products of experts on b200" in describe_error(
        "product of experts", ["b200"]
    )


def test_other_kernels_name_what_was_timed() -> None:
    assert "for four kernels of Inductor" in describe_error("reduction", ["h100"])


def test_products_without_scales_are_said_to_be_not_compared() -> None:
    assert "as this one, were not compared" in describe_error("product", ["h100"])
    assert "as this one" not in describe_error("product with scales", ["h100"])
