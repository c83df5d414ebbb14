from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.diffs import diff, recorded, rows
from workbench.analysis.diff.report_comparison import (
    compare,
    compute_code_digest,
    is_same_code,
)
from workbench.report import Capability, Environment, Outcome, Report, Request, Table


def test_what_was_asked_for_is_compared_field_by_field() -> None:
    changes = {c.item: (c.change, c.a) for c in rows(diff("static", "dynamic"), "request")}
    assert changes["dynamic_shapes"] == ("added", None)
    assert changes["inputs[0]"] == ("changed", "x: float32 [8, 32, 256] on cpu")


def test_options_and_variables_are_compared_by_name() -> None:
    a = Report(request=Request(options=(("a", "1"), ("b", "2"))))
    b = Report(
        request=Request(options=(("b", "3"), ("c", "4"))),
        environment=Environment(torch="2.14.0", variables=(("OMP_NUM_THREADS", "8"),)),
    )
    found = compare(a, b)
    assert [(c.item, c.a, c.b) for c in rows(found, "request")] == [
        ("options: a", "1", None),
        ("options: b", "2", "3"),
        ("options: c", None, "4"),
    ]
    assert [c.item for c in rows(found, "environment")] == ["torch", "variables: OMP_NUM_THREADS"]
    assert dict(found.same)["request"] == 17  # of the fields only the options differ


def test_a_failure_is_the_first_difference() -> None:
    failed = replace(recorded("static"), outcome=Outcome(False, "Inductor", "no code for it"))
    first = compare(recorded("static"), failed).changes[0]
    assert (first.part, first.a, first.b) == ("outcome", "ok", "failed in Inductor: no code for it")


def test_what_was_not_captured_is_said() -> None:
    lost = Report(tables={"capabilities": Table.of(Capability, [Capability("guards", False, "x")])})
    found = compare(lost, Report())
    assert found.missing == (("guards", "in a: x"),)
    assert found.is_same


RECORDS = Path(__file__).parents[2] / "records"


def with_program(report: Report, old: str, new: str) -> Report:
    """A record in whose generated programs another text stands."""
    changed = {w.text: report.texts[w.text].replace(old, new) for w in report.wrappers if w.text}
    return replace(report, texts={**report.texts, **changed})  # type: ignore[arg-type]


def test_the_same_generated_code_is_found_whatever_its_number() -> None:
    a = Report.load(RECORDS / "block.wbr")
    assert compute_code_digest(a)
    assert is_same_code(a, with_program(a, "# AOT ID: [", "# AOT ID: [7"))
    assert not is_same_code(a, with_program(a, "assert_size_stride", "check"))
    assert not is_same_code(a, Report.load(RECORDS / "layers.wbr"))


def test_flags_of_the_compiler_make_another_program_of_the_same_text() -> None:
    a = Report.load(RECORDS / "block.wbr")
    flagged = (*a.request.options, ("cpp.enable_unsafe_math_opt_flag", "True"))
    silent = (*a.request.options, ("max_fusion_size", "8"))
    assert not is_same_code(a, replace(a, request=replace(a.request, options=flagged)))
    assert is_same_code(a, replace(a, request=replace(a.request, options=silent)))


def test_of_what_has_no_generated_code_nothing_is_said_to_be_the_same() -> None:
    assert compute_code_digest(Report()) is None
    assert not is_same_code(Report(), Report())
