"""Parameters as data: which generation a GPU takes, and what is said of one that has none."""

from __future__ import annotations

import pytest

from workbench.analysis.kernel_time.calibration import (
    build_calibration,
    choose_calibration,
    load_calibrations,
)
from workbench.specs import Catalogue

GPUS = Catalogue.built_in()


def test_every_generation_has_its_source_date_and_errors() -> None:
    generations = [one.generation for one in load_calibrations()]
    assert sorted(generations) == ["CDNA 3", "Hopper"]
    for one in load_calibrations():
        assert one.source
        assert one.date
        assert one.devices
        kinds = {"product", "convolution", "attention", "mover"}
        assert set(one.errors) == {*kinds, "chosen product", "chosen convolution"}
        assert all(GPUS[name].architecture == one.generation for name in one.devices)


def test_shares_of_a_peak_are_at_most_one() -> None:
    for one in load_calibrations():
        shares = {name: value for name, value in one.values.items() if ".reach." in name}
        assert shares
        assert all(0 < value <= 1 for value in shares.values())


@pytest.mark.parametrize(
    ("gpu", "generation", "reason"),
    [
        ("h100", "Hopper", None),
        ("h100-pcie", "Hopper", "fitted to H100 SXM5 80 GB and H200 SXM 141 GB"),
        (
            "b200",
            "Hopper",
            "no Blackwell GPU was measured: modelled like H100 SXM5 80 GB and H200 SXM 141 GB, "
            "error not measured",
        ),
        (
            "mi355x",
            "CDNA 3",
            "no CDNA 4 GPU was measured: modelled like Instinct MI300X 192 GB, error not measured",
        ),
        (
            "a100",
            "Hopper",
            "no Ampere GPU was measured: modelled like H100 SXM5 80 GB and H200 SXM 141 GB, "
            "error not measured",
        ),
    ],
)
def test_a_gpu_takes_its_generation_or_the_nearest_of_its_vendor(
    gpu: str, generation: str, reason: str | None
) -> None:
    choice = choose_calibration(GPUS[gpu])
    assert (choice.calibration.generation, choice.reason) == (generation, reason)


def test_tables_in_tables_are_read_by_path() -> None:
    table = {
        "devices": ["h100"],
        "source": "a",
        "date": "b",
        "errors": {"product": 0.1},
        "values": {"product": {"depth": 2}, "mover.rate.cat": 3},
    }
    made = build_calibration("Hopper", table)
    assert made.values == {"product.depth": 2.0, "mover.rate.cat": 3.0}
    assert made.value("product.none", "product.depth") == 2.0
