"""The order of configurations, and why one is before another, in words."""

from __future__ import annotations

from dataclasses import replace

from workbench.analysis.tuning.candidate import (
    RANKED,
    Candidate,
    count_verdicts,
    explain_order,
    rank_candidates,
)
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
FAST = Candidate(
    (("BLOCK_M", 64),), 4, 3, RANKED, model_us=20.0, because="memory latency", registers=128,
    smem_bytes=49152, blocks=2, occupancy=0.5, limiter="registers", grid=264, l2_bytes=1e8,
)  # fmt: skip
SLOW = replace(
    FAST, values=(("BLOCK_M", 128),), stages=2, model_us=31.0, because="matrix units",
    registers=255, spills=12, occupancy=0.25, limiter="shared memory", blocks=1, grid=133,
    smem_bytes=32768, l2_bytes=2e8,
)  # fmt: skip


def test_those_with_a_place_come_first_in_the_order_of_the_model() -> None:
    lost = Candidate((), 8, 2, "does not fit", "300 kB")
    assert [each.rank for each in rank_candidates([lost, SLOW, FAST])] == [1, 2, None]
    assert rank_candidates([SLOW, FAST])[0].name == "BLOCK_M=64, 4 warps, 3 stages"
    assert count_verdicts([lost, lost, FAST]) == {"ranked": 1, "does not fit": 2}


def test_a_prior_decides_where_there_is_one() -> None:
    assert rank_candidates([FAST, replace(SLOW, placed_us=10.0)])[0].stages == 2


def test_why_names_waves_occupancy_registers_stages_and_bytes() -> None:
    told = explain_order(H100, SLOW, FAST)
    assert told.startswith("The model gives BLOCK_M=64, 4 warps, 3 stages 20.0 µs and BLOCK_M=128")
    assert "1.55 times as long" in told
    assert "264 programs in 1 wave against 133 programs in 2 waves, the last filled to 1 %" in told
    assert "50 % (limited by registers) against 25 % (limited by shared memory)" in told
    assert "128 against 255 and 12 spills" in told
    assert "3 in 49.2 kB of shared memory against 2 in 32.8 kB" in told
    assert "Bytes from the L2: 100 MB against 200 MB" in told
    assert "first mostly waits for memory latency, the second for matrix units" in told
    assert told.endswith("Modelled, not measured.")


def test_two_that_the_model_cannot_tell_apart_are_said_to_be_so() -> None:
    told = explain_order(H100, FAST, replace(FAST, warps=8, model_us=20.1))
    assert "it cannot tell which of them is faster" in told
    assert "Both mostly wait for memory latency." in told


def test_one_that_was_discarded_says_why() -> None:
    lost = Candidate((("BLOCK_M", 256),), 8, 2, "does not fit", "300 kB of 228 kB")
    told = explain_order(H100, FAST, lost)
    assert told == "BLOCK_M=256, 8 warps, 2 stages: does not fit, 300 kB of 228 kB."
