"""What the file of figures keeps, and how the README's table shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import readme_table
from tests.bench import record as records
from tests.bench.__main__ import BENCHES
from tests.bench.figure import Figure

MACHINE = {"cores": 2, "processor": "x86_64", "vectors": "AVX2", "memory_gib": 24, "gpu": None}
FIGURES = (
    Figure("load (s)", 0.2, None, 0.2, 0.5, "s"),
    Figure("  peak memory", 600, None, 600, 250, "MB", "", "with a hash"),
)


def made(*figures: Figure) -> records.Record:
    rows = records.recorded(figures, "2 threads", "2026-01-02")
    return records.Record(MACHINE, {"python": "3.11", "torch": "2.13.0"}, records.by_name(rows))


def test_a_part_is_named_after_its_figure_and_may_have_conditions_of_its_own() -> None:
    load, peak = made(*FIGURES).figures.values()
    assert (load.name, load.conditions, load.passed) == ("load (s)", "2 threads", True)
    assert (peak.name, peak.conditions) == ("load (s): peak memory", "with a hash")
    assert not peak.passed


def test_two_figures_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two figures are called 'load \(s\)'"):
        made(FIGURES[0], FIGURES[0])


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    kept = made(*FIGURES)
    kept.save(tmp_path / "bench.json")
    assert records.Record.load(tmp_path / "bench.json") == kept


def test_figures_measured_anew_take_the_place_of_older_ones() -> None:
    again = records.recorded([replace(FIGURES[0], value=0.3)], "2 threads", "2026-02-03")
    kept = made(*FIGURES).with_figures(again).figures
    assert [row.value for row in kept.values()] == [0.3, 600]


def test_a_machine_may_become_quiet_and_is_refused_when_it_stays_busy() -> None:
    waited: list[float] = []
    loads = iter([1.4, 0.7, 0.2])
    records.wait_for_quiet(load=lambda: next(loads), sleep=waited.append)
    assert waited == [10, 10]
    with pytest.raises(RuntimeError, match=r"1\.7 processes ran in the last minute"):
        records.wait_for_quiet(30, load=lambda: 1.7, sleep=waited.append)
    assert len(waited) == 5


def test_every_bench_says_under_which_conditions_it_measures() -> None:
    assert [name for name, bench in BENCHES.items() if len(bench.CONDITIONS) < 20] == []


def test_the_table_shows_what_missed_its_reach_and_what_is_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("load (s)", "load (s): peak memory", "not there (us)")
    monkeypatch.setattr(readme_table, "HEADLINES", names)
    assert readme_table.table(made(*FIGURES)).splitlines()[-3:] == [
        "| load | 0.2 s | ≤ 0.5 s | 2 threads |",
        "| load: peak memory | 600 MB, **missed** | ≤ 250 MB | with a hash |",
        "| not there | not measured yet | | |",
    ]


def test_what_was_carried_over_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readme_table, "HEADLINES", ("load (s)",))
    kept = made(FIGURES[0])
    carried = replace(kept.figures["load (s)"], source=records.CARRIED)
    lines = readme_table.table(kept.with_figures([carried])).splitlines()
    assert "| load | 0.2 s † | ≤ 0.5 s | 2 threads |" in lines
    assert lines[-1].startswith("† carried over")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.0164, "ratio", "0.016"), (1.13, "us", "1.1 µs"), (1234.4, "MB", "1,234 MB")],
)
def test_values_are_shown_in_two_digits(value: float, unit: str, text: str) -> None:
    assert readme_table.shown(value, unit) == text
