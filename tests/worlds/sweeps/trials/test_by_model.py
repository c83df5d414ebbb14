"""The model's time of kernels with other parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.errors import UsageError
from workbench.report import Report, Table
from workbench.report.machine_rows import KernelRoofline
from workbench.report.trials import Trial
from workbench.specs import Catalogue
from workbench.worlds.sweeps.trials.trial_run import (
    estimate_by_configs,
    estimate_call,
    parse_changes,
)

RECORD = Path(__file__).parents[3] / "records" / "norm_h100.wbr"


@pytest.fixture(scope="module")
def norm() -> Report:
    """A product by a library, then one Triton kernel that has XBLOCK."""
    return Report.load(RECORD)


def test_a_call_is_forecast_with_its_launches_and_its_interval(norm: Report) -> None:
    row, told = estimate_call(Trial("key", ()), norm), wb.forecast(norm)
    assert (row.call_us, row.low_us, row.high_us) == (told.call_us, told.least_us, told.most_us)
    assert row.is_model
    assert row.warning is None
    strange = replace(norm, request=replace(norm.request, target="a100"))
    row = estimate_call(Trial("key", ()), strange)
    assert row.high_us is None
    assert row.warning == "the model's error was not measured on a100"


def test_without_a_forecast_the_bounds_are_added_up(norm: Report) -> None:
    tables = {name: table for name, table in norm.tables.items() if name != "roofline"}
    strange = replace(norm, request=replace(norm.request, target="mine"))
    rows = [replace(row, target="mine") for row in norm.roofline]
    tables["roofline"] = Table.of(KernelRoofline, rows)
    row = estimate_call(Trial("key", ()), replace(strange, tables=tables))
    assert row.call_us == pytest.approx(sum(r.bound_us or 0.0 for r in norm.roofline))


def test_what_is_wanted_of_one_kernel_wins(norm: Report) -> None:
    assert parse_changes(norm, {"k1.XBLOCK": 8, "XBLOCK": 2, "num_warps": 4}) == {
        "k1": {"XBLOCK": 8, "num_warps": 4}
    }


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"R0_BLOCK": 8}, "has a parameter R0_BLOCK that .*: k1 has XBLOCK, num_warps, num_stages"),
        ({"k7.XBLOCK": 8}, "'k7' is not a Triton kernel"),
    ],
)
def test_what_no_kernel_has_is_refused(norm: Report, wanted: dict[str, int], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_changes(norm, wanted)


def test_what_is_not_changed_takes_what_a_forecast_says(norm: Report) -> None:
    """A library call was 90 % of its roofline and 3 µs there."""
    gpu = Catalogue.built_in()["h100"]
    trial, report = estimate_by_configs(Trial("key", ()), norm, gpu, {"k1.XBLOCK": 1})
    product, changed = wb.forecast(norm).rows
    assert (product.kernel, product.source, changed.kernel) == ("k0", "modelled", "k1")
    best = report.ranked_configs[0].model_us
    assert best is not None
    assert trial.call_us == pytest.approx(product.us + best)


@pytest.mark.slow
def test_a_sweep_of_block_sizes_is_ranked_by_the_model(tmp_path: Path) -> None:
    found = wb.sweep(
        lambda x: torch.softmax(x * 2, -1),
        (torch.randn(64, 1024),),
        over={"target": ["h100"], "XBLOCK": [1, 8], "num_warps": [4]},
        store=tmp_path / "s.sqlite",
    )
    assert [trial.status for trial in found.trials] == ["done", "done"]
    assert all(trial.is_model and trial.call_us for trial in found.trials)
    rows = found.choices()
    assert set(rows["kind"]) == {"triton config"}
    assert rows["is_model"].all()
    assert rows["choice"].str.contains("XBLOCK=8").any()
    report = found.report(0)
    h100 = Catalogue.of_user(tmp_path)["h100"]
    again, _ = estimate_by_configs(Trial("key", ()), report, h100, {"XBLOCK": 1})
    assert again.call_us is not None
