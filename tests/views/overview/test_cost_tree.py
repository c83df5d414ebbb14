"""The trees of lines and of modules of the Overview, as rows of the view."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from big_report import big_report

from workbench.report import Report
from workbench.report.rows import MODULE_CLASSES
from workbench.views.document import document
from workbench.views.wire.overview_messages import TreeRow

RECORDS = Path(__file__).parents[2] / "records"
LAYERS = Report.load(RECORDS / "layers.wbr")


def drawn(rows: list[TreeRow]) -> list[str]:
    return [f"{'  ' * row['depth']}{row['kind']} {row['name'] or row['id']}" for row in rows]


def test_lines_stand_in_their_function_and_one_that_costs_nothing_is_no_fold() -> None:
    assert drawn(document(LAYERS)["calls"]) == [
        "function forward",
        "  line L:s1:42",
        "  line L:s1:43",
        "  line L:s1:44",
        "    function forward",
        "      line L:s0:27",
        "        module norm",
        "        module up",
        "      line L:s0:28",
        "        module down",
        "      line L:s0:29",
        "  line L:s1:45",
        "    module head",
        "rest not of a line",
    ]


def test_several_lines_that_cost_nothing_are_folded_and_the_head_is_above_them() -> None:
    """As seen: `… 6 lines` above the line 3 that comes before them."""
    report = Report.load(RECORDS / "accesses.wbr")
    numbers = [int(row["id"].split(":")[2]) for row in document(report)["calls"][1:]]
    assert numbers == sorted(numbers)
    assert [row["kind"] for row in document(report)["calls"]][-1] == "fold"


def test_equal_layers_are_one_row_with_the_least_and_the_most_of_one() -> None:
    rows = document(LAYERS)["calls"]
    call = next(row for row in rows if row["id"] == "L:s1:44")
    assert (call["caption"], call["times"]) == ("forward", 4)
    least, most = call["each"]["bytes"]
    assert least < most < call["total"]["bytes"] / 3


def test_modules_have_their_lines_and_kernels() -> None:
    rows = document(LAYERS)["modules"]
    assert drawn(rows)[:2] == ["module Model", "  module layers.0–3"]
    assert rows[1]["lines"] == ["L:s0:27", "L:s0:28"]
    assert len(rows[1]["kernels"]) > 4


def test_a_line_that_something_is_said_of_is_there_though_it_costs_nothing(
    sample_report: Report,
) -> None:
    rows = document(sample_report)["calls"]
    broken = next(row for row in rows if row["id"] == "L:s0:14")
    assert (broken["kind"], broken["total"]) == ("line", {})


@pytest.mark.parametrize(
    "without", [("kernels",), ("kernels", "nodes"), ("kernels", "nodes", "breaks")]
)
def test_without_kernels_or_nodes_the_lines_that_are_told_are_there(
    sample_report: Report, without: tuple[str, ...]
) -> None:
    kept = {
        name: table
        for name, table in sample_report.tables.items()
        if name not in (*without, "roofline")
    }
    rows = document(replace(sample_report, tables=kept))["calls"]
    ids = {row["id"] for row in rows if row["kind"] == "line"}
    assert ("L:s0:14" in ids) == ("breaks" not in without)
    assert ("L:s0:13" in ids) == ("nodes" not in without)


def test_a_record_of_many_equal_layers_has_few_rows() -> None:
    few, many = (document(big_report(nodes)) for nodes in (3000, 12000))
    assert len(many["calls"]) < 2 * len(few["calls"])
    assert len(json.dumps(many["calls"])) < 0.2 * len(json.dumps(many))


def test_a_module_is_named_with_its_class() -> None:
    classes = {"": "Model", "layers.0": "Block", "layers.0.norm": "LayerNorm"}
    report = replace(LAYERS, extra={MODULE_CLASSES: classes})
    captions = {row["name"]: row["caption"] for row in document(report)["modules"]}
    assert (captions["Model"], captions["layers.0–3"], captions["norm"]) == (
        "Model",
        "Block",
        "LayerNorm",
    )
    norm = next(row for row in document(report)["calls"] if row["name"] == "norm")
    assert norm["caption"] == "LayerNorm"


def test_an_older_record_has_modules_without_classes() -> None:
    assert MODULE_CLASSES not in LAYERS.extra
    assert {row["caption"] for row in document(LAYERS)["modules"]} == {""}
