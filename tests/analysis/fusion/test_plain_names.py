"""Kernels by names that a person would give them, made for the figures of fusion."""

from __future__ import annotations

from pathlib import Path

from workbench.analysis.fusion.fusion import name_kernels
from workbench.report import Report

RECORDS = Path(__file__).parents[2] / "records"


def test_a_module_without_modules_inside_gives_its_name_else_the_operator_does() -> None:
    names = name_kernels(Report.load(RECORDS / "layers.wbr"))
    assert [names[id].words for id in ("k0", "k1", "k2", "k4", "k15")] == [
        ("embed", "norm"),
        ("up",),
        ("gelu",),
        ("add", "norm"),
        ("cross_entropy",),
    ]


def test_a_module_that_several_kernels_compute_is_a_part_in_each() -> None:
    names = name_kernels(Report.load(RECORDS / "convolutions.wbr"))
    assert names["k4"].parts == names["k6"].parts == {"norm2"}
    assert (names["k0"].words, names["k0"].laid) == ((), ("conv1", "skip"))


def test_a_numbered_module_is_named_with_the_one_that_holds_it() -> None:
    names = name_kernels(Report.load(RECORDS / "training.wbr"))
    assert names["k0"].words == ("G['MODEL'].0",)
