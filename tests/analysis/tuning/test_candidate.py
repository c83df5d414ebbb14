"""The order of configurations, and why one is before another, in words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from workbench.analysis.tuning.candidate import (
    RANKED,
    SPILLS,
    Candidate,
    count_verdicts,
    explain_order,
    list_rows,
    number_places,
    rank_candidates,
)
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
FAST = Candidate(
    (("BLOCK_M", 64),),
    4,
    3,
    RANKED,
    model_us=20.0,
    because="memory latency",
    registers=128,
    smem_bytes=49152,
    blocks=2,
    occupancy=0.5,
    limiter="registers",
    grid=264,
    l2_bytes=1e8,
)
SLOW = replace(
    FAST,
    values=(("BLOCK_M", 128),),
    stages=2,
    model_us=31.0,
    because="matrix units",
    registers=255,
    spills=12,
    occupancy=0.25,
    limiter="shared memory",
    blocks=1,
    grid=133,
    smem_bytes=32768,
    l2_bytes=2e8,
)


def test_those_with_a_place_come_first_in_the_order_of_the_model() -> None:
    lost = Candidate((), 8, 2, "does not fit", "300 kB")
    assert [each.rank for each in rank_candidates([lost, SLOW, FAST])] == [1, 2, None]
    assert rank_candidates([SLOW, FAST])[0].name == "BLOCK_M=64, 4 warps, 3 stages"
    assert count_verdicts([lost, lost, FAST]) == {"ranked": 1, "does not fit": 2}


def test_a_prior_decides_where_there_is_one() -> None:
    assert rank_candidates([FAST, replace(SLOW, placed_us=10.0)])[0].stages == 2


def test_why_names_waves_occupancy_registers_stages_and_bytes() -> None:
    told = explain_order(H100, SLOW, FAST)
    begins = "Modelled, not measured: BLOCK_M=64, 4 warps, 3 stages takes 20.0 µs, BLOCK_M=128"
    assert told.startswith(begins)
    assert " (1.55×). " in told
    assert "264 program instances in 1 wave vs. 133 program instances in 2 waves" in told
    assert "2 waves, the last one 1 % full" in told
    assert "50 % (limited by registers) vs. 25 % (limited by shared memory)" in told
    assert "128 vs. 255 and 12 spills" in told
    assert "3 in 49.2 kB of shared memory vs. 2 in 32.8 kB" in told
    assert "L2 traffic: 100 MB vs. 200 MB" in told
    assert "first is limited by memory latency, the second by matrix units" in told


def test_two_that_the_model_cannot_tell_apart_are_said_to_be_so() -> None:
    told = explain_order(H100, FAST, replace(FAST, warps=8, model_us=20.1))
    assert told.startswith("Too close to call (1.01×). Modelled, not measured: BLOCK")
    assert "Both are limited by memory latency." in told


def test_one_that_was_discarded_says_why() -> None:
    lost = Candidate((("BLOCK_M", 256),), 8, 2, "does not fit", "300 kB of 228 kB")
    told = explain_order(H100, FAST, lost)
    assert told == "BLOCK_M=256, 8 warps, 2 stages: does not fit, 300 kB of 228 kB."


def make(block: int, **more: Any) -> Candidate:
    usual = {"registers": 32, "spills": 0, "occupancy": 1.0, "model_us": 5.0, "verdict": RANKED}
    return Candidate((("B", block),), 4, 1, **{**usual, **more})


def list_ranks(candidates: list[Candidate]) -> list[tuple[str, int | None]]:
    return [(row.choice, row.rank) for row in list_rows(candidates, "k0", "h100")]


def test_a_record_has_the_faster_first_then_those_with_fewer_spills() -> None:
    """What spills is discarded by `tune`; a record has it in its place, and says so."""
    given = [
        make(1, model_us=9.0),
        make(2, spills=4, verdict=SPILLS, reason="4 stores and loads"),
        make(4),
        make(8, occupancy=0.5),  # the model gives it the same time
    ]
    assert list_ranks(given) == [("B=4", 1), ("B=8", 1), ("B=2", 3), ("B=1", 4)]
    assert all(row.estimate for row in list_rows(given, "k0", "h100"))
    ranked = [(each.choice, each.rank) for each in rank_candidates(given) if each.rank]
    assert ranked == [("B=4", 1), ("B=8", 1), ("B=1", 3)]


def test_rows_of_a_record_say_what_is_against_them() -> None:
    refused = {"model_us": None, "reason": "too much shared memory"}
    given = [
        make(1),
        make(2, spills=4, verdict=SPILLS),
        make(4, occupancy=0.25, limiter="registers"),
        make(8, model_us=9.0, because="memory traffic"),
        make(16, verdict="does not fit", **refused),
        make(
            32,
            verdict="fails the check",
            reason="BLOCK_K spans several scale blocks",
            model_us=None,
        ),
        make(64, verdict="does not compile", reason="a power of 2", model_us=None),
        make(128, verdict="launches nothing", reason="the grid is 0.", model_us=None),
    ]
    rows = {row.choice: row for row in list_rows(given, "k0", "h100", "as counted")}
    assert rows["B=1"].rejection is None
    assert rows["B=2"].rejection == "spills: 4 stores and loads"
    assert (
        rows["B=4"].rejection
        == "occupancy 25 %; the best configuration has 100 % (limited by registers)"
    )
    assert rows["B=8"].rejection == "1.80× the best modelled time"
    assert rows["B=8"].note == "modelled: limited by memory traffic; as counted"
    assert rows["B=16"].rejection == "cannot be launched: too much shared memory"
    assert rows["B=32"].rejection == "BLOCK_K spans several scale blocks"
    assert (rows["B=64"].rejection, rows["B=64"].note) == ("does not compile", "a power of 2")
    assert rows["B=128"].rejection == "launches nothing: the grid is 0"
    assert {rows[f"B={n}"].rank for n in (16, 32, 64, 128)} == {None}


def test_without_a_model_occupancy_decides() -> None:
    given = [make(1, model_us=None, occupancy=0.5), make(2, model_us=None)]
    assert [choice for choice, _ in list_ranks(given)] == ["B=2", "B=1"]


def test_what_the_model_cannot_tell_apart_has_one_place() -> None:
    times = [3.60, 3.60, 3.65, 3.69, 5.0]
    assert number_places([(us, 0) for us in times]) == [1, 1, 1, 4, 5]
    unknown = math.inf
    assert number_places([(unknown, 0, -1.0), (unknown, 0, -1.0), (unknown, 0, -0.5)]) == [1, 1, 3]
