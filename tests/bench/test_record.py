"""What the file of figures keeps, and how the page of figures shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import figures_page
from tests.bench import record as records
from tests.bench.__main__ import BENCHES
from tests.bench.figure import Figure

MACHINE = {"cores": 2, "processor": "x86_64", "vectors": "AVX2", "memory_gib": 24, "gpu": None}
HERE = records.Place(MACHINE, {"python": "3.11", "torch": "2.13.0"})
THERE = replace(HERE, machine={**MACHINE, "vectors": "AVX-512"})
FIGURES = (
    Figure("load (s)", 0.2, None, 0.2, 0.5, "s"),
    Figure("  peak memory", 600, None, 600, 250, "MB", "", "with a hash"),
)


def made(*figures: Figure) -> records.Record:
    rows = records.recorded(figures, "2 threads", "2026-01-02", "a")
    return records.Record({"a": HERE}, records.by_name(rows))


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


def again(value: float, place: str) -> list[records.Recorded]:
    return records.recorded([replace(FIGURES[0], value=value)], "2 threads", "2026-02-03", place)


def test_figures_measured_anew_take_the_place_of_older_ones() -> None:
    kept = made(*FIGURES).with_figures(HERE, again(0.3, "a"))
    assert [row.value for row in kept.figures.values()] == [0.3, 600]
    assert kept.places == {"a": HERE}


def test_figures_of_another_machine_stay_with_its_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = made(*FIGURES)
    assert (kept.letter(HERE), kept.letter(THERE)) == ("a", "b")
    both = kept.with_figures(THERE, again(0.3, "b"))
    assert both.places == {"a": HERE, "b": THERE}
    monkeypatch.setattr(figures_page, "HEADLINES", tuple(both.figures))
    lines = figures_page.table(both).splitlines()
    assert lines[-2:] == [
        "| load | 0.3 s (b) | ≤ 0.5 s | 2 threads |",
        "| load: peak memory | 600 MB (a), **missed** | ≤ 250 MB | with a hash |",
    ]
    assert "Machine (b): 2 cores (x86_64, AVX-512), 24 GiB" in " ".join(lines)


def test_a_machine_without_a_figure_goes() -> None:
    assert made(FIGURES[0]).with_figures(THERE, again(0.3, "b")).places == {"b": THERE}


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
    monkeypatch.setattr(figures_page, "HEADLINES", names)
    assert figures_page.table(made(*FIGURES)).splitlines()[-3:] == [
        "| load | 0.2 s | ≤ 0.5 s | 2 threads |",
        "| load: peak memory | 600 MB, **missed** | ≤ 250 MB | with a hash |",
        "| not there | not measured yet | | |",
    ]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.01642, "ratio", "0.0164"), (1.056, "us", "1.06 µs"), (1234.4, "MB", "1,234 MB")],
)
def test_values_are_shown_in_three_digits(value: float, unit: str, text: str) -> None:
    assert figures_page.shown(value, unit) == text


def test_a_figure_that_missed_its_reach_is_shown_though_no_headline_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(figures_page, "HEADLINES", ("load (s)",))
    assert figures_page.table(made(*FIGURES)).splitlines()[-2:] == [
        "| load | 0.2 s | ≤ 0.5 s | 2 threads |",
        "| load: peak memory | 600 MB, **missed** | ≤ 250 MB | with a hash |",
    ]


def test_the_figures_on_the_page_are_those_of_the_file() -> None:
    record = records.Record.load()
    assert figures_page.on_page(figures_page.PAGE.read_text()) == figures_page.table(record)
    assert set(figures_page.HEADLINES) <= record.figures.keys()


def test_every_figure_in_the_file_says_when_and_under_which_conditions() -> None:
    for row in records.Record.load().figures.values():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row.date), row
        assert len(row.conditions) > 20, row
