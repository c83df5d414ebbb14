"""A function with a break goes on a round trip: recorded, or as it came from a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import workbench as wb
from tests.variant_samples import Block, batch, made, noisy, scored

QUICK = ("eager", "ours")


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture
def recorded() -> wb.Variants:
    return wb.variants(scored, [(batch(4),)])


def test_its_file_gives_in_a_fresh_process_what_eager_gives(
    recorded: wb.Variants, tmp_path: Path
) -> None:
    trip = wb.roundtrip(recorded, (batch(4),), ways=("torch", *QUICK))
    assert trip.ok
    assert trip.saved_s
    assert trip.way("ours").ok
    assert trip.way("torch").note == "torch has no loader for a function with graph breaks"
    recorded.save(tmp_path / "scored.aotv")
    loaded = wb.load(tmp_path / "scored.aotv", scored)
    other = wb.roundtrip(loaded, (batch(5),), ways="ours")
    loaded.close()
    assert other.saved_s is None
    assert not other.ok
    assert "No variant of scored in the file fits this call" in str(other.way("ours").note)


@pytest.mark.slow
def test_a_function_of_a_notebook_cannot_go_and_says_why(
    recorded: wb.Variants, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored, "__module__", "__main__")
    trip = wb.roundtrip(recorded, (batch(4),), ways=("ours",))
    assert not trip.ok
    assert "no other process has scored" in str(trip.way("ours").note)


@pytest.mark.slow
def test_a_function_inside_another_is_in_no_other_process_either() -> None:
    recorded = wb.variants(made(3), [(batch(4),)])
    trip = wb.roundtrip(recorded, (batch(4),), ways=QUICK)
    assert trip.way("eager").ok
    assert "no other process has made.<locals>.inner" in str(trip.way("ours").note)


@pytest.mark.slow
def test_random_numbers_are_named_as_the_reason_for_a_difference() -> None:
    recorded = wb.variants(noisy, [(batch(4),)])
    trip = wb.roundtrip(recorded, (batch(4),), ways=QUICK)
    assert not trip.ok
    assert "it draws random numbers" in "".join(trip.notes)


@pytest.mark.slow
def test_a_module_goes_with_its_weights() -> None:
    assert wb.roundtrip(wb.variants(Block(), [(batch(4),)]), (batch(4),), ways=QUICK).ok


def test_a_file_that_was_replaced_is_not_compared(recorded: wb.Variants, tmp_path: Path) -> None:
    path = tmp_path / "scored.aotv"
    recorded.save(path)
    loaded = wb.load(path, scored)
    wb.aot_compile(torch.relu, (batch(4),), backend="eager").save(path)
    with pytest.raises(wb.ArtifactError, match="was replaced after it was loaded"):
        wb.roundtrip(loaded, (batch(4),), ways=QUICK)
    loaded.close()
