"""Environment variables read while capturing: said to be frozen, with the line."""

import os
from os import getenv

import pytest
import torch

import workbench as wb
from workbench.views.text import text


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * float(os.environ["WORKBENCH_TEST_SCALE"])


def scaled_by_default(x: torch.Tensor) -> torch.Tensor:
    return x * float(getenv("WORKBENCH_TEST_NONE", "2"))


def plain(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@pytest.mark.parametrize(
    ("function", "name"),
    [(scaled, "WORKBENCH_TEST_SCALE"), (scaled_by_default, "WORKBENCH_TEST_NONE")],
)
def test_an_environment_variable_is_frozen(
    monkeypatch: pytest.MonkeyPatch, function: object, name: str
) -> None:
    monkeypatch.setenv("WORKBENCH_TEST_SCALE", "3")
    report = wb.aot_compile(function, (torch.ones(3),), backend="eager").report
    (note,) = report.request.notes
    line = function.__code__.co_firstlineno + 1  # type: ignore[attr-defined]
    assert note.startswith(f"the environment variable {name} is frozen at capture: ")
    assert note.endswith(f"test_frozen_reads.py:{line}")
    assert f"note          {note}"[:70] in text(report)


def test_nothing_is_frozen_where_nothing_is_read() -> None:
    report = wb.aot_compile(plain, (torch.ones(3),), backend="eager").report
    assert report.request.notes == ()
