"""The answer of a check: its sentence, its verdict, and that a record keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from workbench.analysis.kernel_checks.kernel_check import KernelCheck, add_check, read_check
from workbench.report import Report
from workbench.report.machine_rows import CheckedCase, KernelFinding

PASSED = CheckedCase("add", "", "passed", (4, 1, 1), 4, ("races", "values"))
LOST = CheckedCase("add", "n = 7", "not checked", (), 0, not_judged=("the reference raised",))
RACE = KernelFinding("add", "race", "Race: line 9.", "k.py", 9, 5)
OUTSIDE = KernelFinding("add", "out of bounds", "Out of bounds: line 7.", "k.py", 7)
LATER = KernelFinding("add", "not judged", "Not judged: line 8.", "k.py", 8)


def check(*rows: KernelFinding | CheckedCase) -> KernelCheck:
    return KernelCheck(
        Report(),
        tuple(row for row in rows if isinstance(row, KernelFinding)),
        tuple(row for row in rows if isinstance(row, CheckedCase)),
    )


@pytest.mark.parametrize(
    ("found", "ok", "words"),
    [
        (check(PASSED), True, "Nothing found in add, in 1 call that was run. Looked for: races"),
        (check(PASSED, LOST), None, "Not checked: the reference raised."),
        (check(LOST), None, "Nothing was checked: the reference raised."),
        (check(), None, "Nothing was checked: there was no kernel."),
        (check(PASSED, RACE, OUTSIDE), False, "Out of bounds: line 7. 1 more finding."),
        (check(PASSED, LATER), True, "Nothing found"),
    ],
)
def test_a_sentence_begins_with_the_worst(found: KernelCheck, ok: bool | None, words: str) -> None:
    assert found.ok is ok
    assert words in found.sentence


def test_in_ci_what_was_found_and_what_was_not_judged_both_stop() -> None:
    with pytest.raises(wb.ExpectationError, match=r"k\.py:9:5: Race: line 9\."):
        check(PASSED, RACE).require()
    with pytest.raises(wb.ExpectationError, match="the reference raised"):
        check(PASSED, LOST).require()
    with pytest.raises(wb.ExpectationError, match="Nothing was checked"):
        check().require()
    assert check(PASSED, RACE).require(allow=["race"]).ok is False


def test_a_record_keeps_it_and_a_second_check_replaces_the_first(tmp_path: Path) -> None:
    report = add_check(Report(), [RACE], [PASSED])
    report = add_check(report, [OUTSIDE], [PASSED])
    report.save(str(tmp_path / "f.wbr"))
    found = read_check(Report.load(str(tmp_path / "f.wbr")))
    assert found is not None
    assert (found.findings, found.cases) == ((OUTSIDE,), (PASSED,))
    assert list(found.frame().kind) == ["out of bounds"]
    assert list(found.frame("cases").verdict) == ["passed"]
    with pytest.raises(wb.UsageError):
        found.frame("rows")
    assert read_check(Report()) is None
