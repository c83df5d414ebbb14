"""Choices of the autotuner: the best of each operation first, and what they take in all."""

from __future__ import annotations

from dataclasses import replace

from tests.views.panes.said import read_first
from workbench.report import AutotuneChoice, Report, Table
from workbench.report.rows import ESTIMATED_CHOICE
from workbench.views.document import document


def choice(id: str, op: str, time_ms: float | None, *, chosen: bool = False) -> AutotuneChoice:
    return AutotuneChoice(id, op, f"choice {id}", "template", time_ms, chosen)


def timed(*rows: AutotuneChoice) -> Report:
    return Report(tables={"autotune": Table.of(AutotuneChoice, rows)})


def test_the_best_of_each_operation_stands_first_and_what_failed_last() -> None:
    made = document(
        timed(
            choice("a0", "mm", 0.4),
            choice("a1", "mm", None),
            choice("a2", "bmm", 0.9),
            choice("a3", "mm", 0.3, chosen=True),
            choice("a4", "bmm", 0.7, chosen=True),
        )
    )
    assert [row["id"] for row in made["choices"]] == ["a3", "a0", "a1", "a4", "a2"]
    assert read_first(made, "autotune") == (
        "5 choices for 2 operations: the chosen ones take 1.00 ms together, "
        "300 µs less than the next best, timed by Inductor."
    )


def test_it_says_where_nothing_was_timed() -> None:
    says = read_first(document(timed(choice("a0", "mm", None, chosen=True))), "autotune")
    assert says == "1 choice for 1 operation; nothing was timed here."
    assert read_first(document(Report()), "autotune") == ""


def test_what_a_model_estimated_is_not_called_measured() -> None:
    rows = [
        replace(choice("a0", "mm", 0.3, chosen=True), note=ESTIMATED_CHOICE),
        replace(choice("a1", "mm", 0.4), note=ESTIMATED_CHOICE),
    ]
    made = document(timed(*rows))
    assert read_first(made, "autotune").endswith("the next best, modelled; nothing was timed.")
    assert not {column["title"] for column in made["columns"]["choices"]} & {"Time", "Measured"}
