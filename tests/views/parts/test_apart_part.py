"""The part `apart:` of a report, alone and in a saved page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.errors import UsageError
from workbench.report import Report
from workbench.settings import Embed
from workbench.views.document import document
from workbench.views.pages.packed_report import embedded
from workbench.views.parts.fusion_part import build_pairs_part
from workbench.views.parts.report_parts import report_part
from workbench.views.wire.codec import pack

RECORDS = Path(__file__).parents[2] / "records"
CONVOLUTIONS = Report.load(RECORDS / "convolutions.wbr")
FULL: Embed = "full"


def ask(report: Report, name: str) -> list[Any]:
    part: Any = report_part(report, name)
    assert part["kind"] == "apart"
    return list(part["answers"])


def test_a_pair_has_one_answer_with_the_row_of_the_scheduler() -> None:
    (answer,) = ask(CONVOLUTIONS, "apart:k4|k6")
    assert answer["kernels"] == ["k4", "k6"]
    assert answer["words"] == ["op11_op12_op14_op15 and op18: no shared data"]
    rows = {row["id"]: row for row in build_pairs_part(CONVOLUTIONS)["rows"]}
    assert rows[answer["rejected"]]["a_kernel"] == "k4"
    assert answer["opportunity"] is None


def test_what_takes_a_fallback_away_is_the_cure() -> None:
    report = Report.load(RECORDS / "block.wbr")
    (answer,) = ask(report, "apart:k4|k5")
    assert answer["help"] == (
        "Replace `aten.topk.default` with an operator that Inductor generates code for."
    )


def test_a_saved_page_has_the_neighbours_and_they_are_small() -> None:
    part: Any = embedded(CONVOLUTIONS, document(CONVOLUTIONS), FULL, 5_000_000)["parts"]["apart:"]
    assert len(part["answers"]) == 18
    assert len(pack(part)) < 1000
    assert {"k3", "k4"} in [set(answer["kernels"]) for answer in part["answers"]]


@pytest.mark.parametrize("name", ["apart:k0", "apart:|k0", "apart:k0|"])
def test_half_a_pair_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="needs two ids"):
        report_part(CONVOLUTIONS, name)
