"""The most memory that a call takes at once, beyond what was there before."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from workbench.sweeps import peak_memory

MIB = 1 << 20


def test_it_is_what_the_call_takes_at_once_and_not_in_sum() -> None:
    def run() -> None:
        for _ in range(3):
            torch.ones(64 * MIB, dtype=torch.uint8)  # every page is written

    peak = peak_memory.peak_of(run)
    assert peak is not None
    assert 60 * MIB < peak < 100 * MIB


def test_what_was_there_before_is_not_counted() -> None:
    kept = torch.ones(64 * MIB, dtype=torch.uint8)
    peak = peak_memory.peak_of(lambda: kept[0].item())
    assert peak is not None
    assert peak < 8 * MIB


def test_what_only_the_first_call_takes_is_not_counted() -> None:
    kept: list[torch.Tensor] = []

    def run() -> None:
        if not kept:
            kept.append(torch.ones(64 * MIB, dtype=torch.uint8))

    peak = peak_memory.peak_of(run)
    assert peak is not None
    assert peak < 8 * MIB


@pytest.mark.parametrize("name", ["_CLEAR", "_STATUS"])
def test_a_system_that_does_not_say_gives_none(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peak_memory, name, tmp_path / "not" / "there")
    assert peak_memory.peak_of(lambda: None) is None


def test_a_status_without_the_figure_gives_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "status").write_text("Name:\tpython\n")
    monkeypatch.setattr(peak_memory, "_STATUS", tmp_path / "status")
    assert peak_memory.peak_of(lambda: None) is None
