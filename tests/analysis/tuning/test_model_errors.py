"""The printed errors of the models are those of the committed figures."""

from __future__ import annotations

import json
import re
from math import floor

from tests.bench.winner_ranks import ERRORS, GPU, PAGE, RECORD, make_errors, time_configs
from workbench.analysis.kernel_time import loop_times
from workbench.analysis.kernel_time.product_times import load_parameters
from workbench.analysis.tuning.tuned import describe_error, load_errors, summarize_error
from workbench.handles.recompilable import Recompilable


def test_the_figures_are_those_of_the_record_and_the_page() -> None:
    assert ERRORS.read_text() == make_errors(json.loads(RECORD.read_text()), PAGE.read_text())


def test_each_gpu_has_its_figures_and_an_unknown_one_is_said_to_have_none() -> None:
    told = describe_error("product with scales", ["h100", "rtx4090"])
    assert told.startswith("Modelled, not measured. Checked on 198 published best configs")
    assert told.endswith("Not validated on rtx4090.")
    assert "best configs for MoE GEMMs on b200: " in describe_error("product of experts", ["b200"])


def test_the_error_is_that_of_the_order_that_was_used() -> None:
    row = load_errors()["moe"]["h100"]
    alone, both = (describe_error("product of experts", ["h100"], used) for used in ((), ("h100",)))
    assert f": {floor(row['five'] * 100)} % are in the top 5" in alone
    assert f": {floor(row['published']['five'] * 100)} % are in the top 5" in both
    assert "on h100, with those for other sizes as prior: " in both
    assert "as prior" not in alone


def test_other_kernels_name_what_was_timed() -> None:
    assert "Measured on 4 Inductor kernels" in describe_error("reduction", ["h100"])


def test_unscaled_matmuls_are_said_to_be_not_validated() -> None:
    for describe in (describe_error, summarize_error):
        assert "Not validated for unscaled GEMMs" in describe("product", ["h100"])
        assert "unscaled" not in describe("product with scales", ["h100"])


def test_the_short_error_has_a_figure_of_each_gpu() -> None:
    rows = load_errors()["gemm"]
    h100, b200 = (floor(rows[gpu]["five"] * 100) for gpu in ("h100", "b200"))
    assert summarize_error("product with scales", ["h100", "b200", "rtx4090"]) == (
        f"Modelled, not measured: {h100} % (h100) and {b200} % (b200) of published best configs "
        "are in its top 5. Not validated on rtx4090."
    )
    least, most = load_errors()["generated"]["first"]
    assert f"top pick took {least:.2f}–{most:.2f}× the best" in summarize_error("loop", ["h100"])


def test_what_is_said_of_generated_kernels_is_what_a_gpu_took() -> None:
    told = time_configs(json.loads(GPU.read_text()))
    low, most = told["first"]
    assert most == 2.95
    assert f"{low:.2f}–{most:.2f}× the best time" in describe_error("pointwise", ["h100"])
    for text in (Recompilable.rank_configs.__doc__, loop_times.__doc__):
        words = " ".join((text or "").split())
        for least, largest in (told["first"], told["five"]):
            assert re.search(rf"{least:.2f}(–| to ){largest:.2f}(×| times)", words)


def test_experts_have_the_parameters_that_were_fitted_to_them() -> None:
    assert load_parameters(experts=True).keys() == load_parameters().keys()
    assert load_parameters(experts=True) != load_parameters()
