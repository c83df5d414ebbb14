"""Memory as a cost: what of the peak each kernel and each line has made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.analysis.memory import memory_cost
from workbench.analysis.memory.memory import memory
from workbench.analysis.memory.memory_cost import (
    count_quick_memory,
    find_peak_by_kernel,
    find_peak_by_line,
    list_all_costs,
)
from workbench.report import Report, Table, Wrapper

STEP = Report.load(Path(__file__).parents[2] / "records" / "training.wbr")


def test_kernels_have_what_lives_at_the_peak_and_was_not_there_before() -> None:
    found = memory(STEP)
    made = find_peak_by_kernel(found)
    tangents = found.at_peak("kind").get("tangent", 0)
    assert sum(made.values()) == found.peak - found.base - tangents
    assert set(made) == {kernel.id for kernel in STEP.kernels}
    (cost,) = (cost for cost in list_all_costs(STEP) if cost.kind == "memory")
    assert cost.by_kernel == made
    assert cost.source.startswith("counted")


def test_lines_have_what_they_make_and_what_is_traced_in_what_they_call() -> None:
    found = memory(STEP)
    lines = {line: size for line, size in find_peak_by_line(found).items() if size}
    assert lines
    known = {f"L:{source.id}" for source in STEP.sources}
    assert {line.rpartition(":")[0] for line in lines} <= known
    assert max(lines.values()) <= found.peak - found.base


def test_a_long_program_is_left_to_who_asks_for_its_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert count_quick_memory(STEP) is not None
    monkeypatch.setattr(memory_cost, "QUICK", 10)
    assert count_quick_memory(replace(STEP)) is None
    assert "memory" not in {cost.kind for cost in list_all_costs(replace(STEP))}


def test_a_record_without_a_program_has_no_such_cost() -> None:
    bare = replace(STEP, tables={**STEP.tables, "wrappers": Table.of(Wrapper, [])})
    assert count_quick_memory(bare) is None
