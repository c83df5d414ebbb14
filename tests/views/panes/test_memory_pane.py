"""The memory of a training step as a part, on a page, and of records that tell nothing of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from wire_types import mismatches

import workbench as wb
from workbench.analysis.memory.memory import Memory, memory
from workbench.report import Report, Table, Wrapper
from workbench.views.document import document
from workbench.views.pages.packed_report import embedded
from workbench.views.parts.report_parts import report_part
from workbench.views.presenters import VIEWS
from workbench.views.wire.memory_messages import BudgetsPart, MemoryPart

RECORDS = Path(__file__).parents[2] / "records"
STEP = Report.load(RECORDS / "training.wbr")
LAYERS = Report.load(RECORDS / "layers.wbr")


@pytest.fixture(scope="module")
def part() -> MemoryPart:
    return cast(MemoryPart, report_part(STEP, "memory:"))


def why(report: Report) -> str | None:
    (head,) = (pane for pane in document(report)["panes"] if pane["id"] == "memory")
    return head["empty"]["text"] if head["empty"] else None


def test_layers_add_up_to_what_lives_at_each_step(part: MemoryPart) -> None:
    found = memory(STEP)
    live = [sum(step) for step in zip(*(layer["bytes"] for layer in part["layers"]), strict=True)]
    assert live == list(found.live)
    assert part["peaks"][-1] == ("step", max(live), live.index(max(live)))
    assert len(part["kernels"]) == len(part["names"]) == len(live)
    assert part["backward"] == next(row.step for row in found.steps if row.is_backward)


def test_the_peak_is_taken_apart_without_a_rest(part: MemoryPart) -> None:
    peak = part["peaks"][-1][1]
    for by, shares in part["at_peak"].items():
        assert sum(share["bytes"] for share in shares) == peak, by
    lines = [share for share in part["at_peak"]["line"] if share["line"]]
    known = {mark["id"] for source in document(STEP)["sources"] for mark in source["marks"]}
    assert lines
    assert {share["line"] for share in lines} <= known


def test_storages_are_tied_to_lines_nodes_and_buffers(part: MemoryPart) -> None:
    buffers = {row.id for row in STEP.buffers}
    nodes = set(STEP.nodes.columns["id"])
    for row in part["storages"]:
        assert set(row["buffers"]) <= buffers
        assert row["node"] is None or row["node"] in nodes
        assert 0 <= row["lowers"] <= row["bytes"]
        assert row["end"] is None or row["start"] <= row["end"]
        assert (row["mark"] == "ext") == (row["kind"] in ("weights", "constant", "input"))
    saved = [row for row in part["storages"] if row["kind"] == "saved for backward"]
    assert saved
    assert all({id.partition(":")[0] for id in row["buffers"]} == {"i0", "i1"} for row in saved)
    assert [column["key"] for column in part["columns"]][:3] == ["value", "kind", "bytes"]


def test_a_target_with_a_size_has_its_capacity(part: MemoryPart) -> None:
    assert part["capacity"] is None
    request = replace(STEP.request, target="h100")
    there: Any = report_part(replace(STEP, request=request), "memory:")
    assert there["capacity"] == 80 * 2**30


def test_the_document_is_made_without_counting() -> None:
    report = replace(STEP)
    assert why(report) is None
    assert "storages" not in document(report)["columns"]


def test_a_page_has_the_part_and_says_it_without_a_script() -> None:
    shown = VIEWS.page(STEP)
    assert "Live bytes at the peak, by line" in shown
    assert "the optimizer" in shown
    assert "memory:" in embedded(STEP, document(STEP), "full", 10**6)["parts"]


def test_records_that_tell_nothing_of_memory_say_why() -> None:
    bare = replace(STEP, tables={**STEP.tables, "wrappers": Table.of(Wrapper, [])})
    assert "no generated program" in (why(bare) or "")
    assert "memory:" not in embedded(bare, document(bare), "full", 10**6)["parts"]
    in_cpp = [Wrapper("w0", "i0", False, "t0")]
    tables = {**STEP.tables, "wrappers": Table.of(Wrapper, in_cpp)}
    other = replace(STEP, tables=tables, texts={"t0": "void run_impl() {}\n"})
    assert "no Python or C++" in (why(other) or "")
    with pytest.raises(wb.UsageError, match=r"no Python or C\+\+"):
        report_part(other, "memory:")


def test_equal_layers_are_one_share_and_their_storages_one_group() -> None:
    layers: Any = report_part(LAYERS, "memory:")
    shares = layers["at_peak"]["module"]
    assert sum(share["bytes"] for share in shares) == layers["peaks"][-1][1]
    (equal,) = [share for share in shares if share["times"] > 1]
    (peak,) = [share for share in shares if share["peak"]]
    assert (equal["name"], equal["times"], peak["name"]) == ("layers.0–2", 3, "layers.3")
    assert sum(part["bytes"] for part in equal["parts"]) == equal["bytes"]
    groups: dict[str, list[Any]] = {}
    for row in layers["storages"]:
        groups.setdefault(row["same"], []).append(row)
    assert max(map(len, groups.values())) == 4
    for first, rows in groups.items():
        assert rows[0]["id"] == first
        assert len({(row["bytes"], row["kind"], row["at_peak"]) for row in rows}) == 1
    weights = [rows for rows in groups.values() if rows[0]["in_layers"] == "layers.*.up.weight"]
    assert [len(rows) for rows in weights] == [4]


def test_eagers_peak_is_shown_where_the_table_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cast(Any, report_part(STEP, "memory:"))["eager"] is None
    found = memory(STEP)
    eager = replace(found.peaks[-1], scope="eager", bytes=9000, missing="scratch")
    rows = Memory.rows
    monkeypatch.setattr(
        Memory,
        "rows",
        lambda self, name: (*rows(self, name), *([eager] if name == "memory_peaks" else [])),
    )
    shown: Any = report_part(replace(STEP), "memory:")
    assert shown["eager"] == (9000, "not included: scratch")
    assert shown["peaks"][-1][0] == "step"


def test_budgets_of_a_record_have_peaks_lines_and_code() -> None:
    part: Any = report_part(LAYERS, "budgets:")
    assert mismatches(part, BudgetsPart) == []
    assert [row["budget"] for row in part["rows"]] == [n / 10 for n in range(10, -1, -1)]
    assert {row["budget"] for row in part["rows"] if row["peak"] is not None} == {1.0, 0.5, 0.0}
    assert (part["own"], part["rows"][0]["code"]) == (1.0, [])
    known = {mark["id"] for source in document(LAYERS)["sources"] for mark in source["marks"]}
    for row in part["rows"]:
        assert sum(line["count"] for line in row["lines"]) == row["again"]
        assert {line["line"] for line in row["lines"]} - {None} <= known
        assert row["saved"] <= (row["peak"] or row["preview"])
    lowest = part["rows"][-1]
    assert lowest["saved"] == 0
    assert any("addmm × " in line["operators"] for line in lowest["lines"])


def test_why_there_are_no_budgets_is_said() -> None:
    shown = document(LAYERS)
    assert (shown["has_budgets"], "no live function" in (shown["actions"]["budgets"] or "")) == (
        True,
        True,
    )
    assert "budgets:" in embedded(LAYERS, shown, "full", 10**6)["parts"]
    assert document(STEP)["has_budgets"] is False
    assert "budgets:" not in embedded(STEP, document(STEP), "full", 10**6)["parts"]
    inference = Report.load(RECORDS / "block.wbr")
    assert "no backward" in (document(inference)["actions"]["budgets"] or "")
    with pytest.raises(wb.UsageError, match="no other memory budgets"):
        report_part(STEP, "budgets:")


def test_a_page_without_a_script_has_the_budgets() -> None:
    assert "Memory budgets" in VIEWS.page(LAYERS)
    assert "Memory budgets" not in VIEWS.page(STEP)
