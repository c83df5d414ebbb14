"""What a record may come to, stated in numbers and in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import workbench as wb
from tests.handles.memory.programs import MLP
from workbench.analysis.memory import memory as memory_module
from workbench.analysis.quantities.quantities import QUANTITIES, read_quantities
from workbench.report import Capability, Table
from workbench.report.program.program_record import require_program_records
from workbench.report.program.record_rows import ProgramHeader
from workbench.report.report_header import Outcome
from workbench.worlds.expectations.expectation import Limit, limit


@pytest.fixture(scope="module")
def report() -> wb.Report:
    return wb.aot_compile(MLP(), (torch.randn(8, 128),), grad=True).report


@pytest.mark.parametrize(
    ("written", "unit", "expected"),
    [
        (3, "1", Limit("<=", 3)),
        ("<= 12", "1", Limit("<=", 12)),
        (">=1", "1", Limit(">=", 1)),
        ("== 0", "1", Limit("==", 0)),
        ("1.5 GB", "bytes", Limit("<=", 1.5e9)),
        ("< 2 MiB", "bytes", Limit("<", 2 * 2**20)),
        ("<= 90 s", "s", Limit("<=", 90)),
        ("2 min", "s", Limit("<=", 120)),
    ],
)
def test_a_limit(written: object, unit: str, expected: Limit) -> None:
    assert limit("x", written, unit) == expected


@pytest.mark.parametrize("written", ["few", "<= 3 MB", -1, True, None, "3..5"])
def test_no_limit(written: object) -> None:
    with pytest.raises(wb.UsageError, match=r"^kernels=.* is not a limit: pass a number"):
        limit("kernels", written, "1")


def test_what_holds_can_be_stated_one_by_one(report: wb.Report) -> None:
    count = len(report.kernels)
    found = wb.expect(report, breaks=0, graphs="== 1").kernels(count, min=1).kernels(exactly=count)
    assert found.recompiles(0).peak_bytes(max="1 GB").compile_s("10 min").record is report
    assert repr(wb.expect(report)).endswith(": all limits hold)")


def test_all_that_does_not_hold_is_said_at_once_with_the_places(report: wb.Report) -> None:
    with pytest.raises(wb.ExpectationError) as raised:
        wb.expect(report, kernels=1, breaks=0, peak_bytes="<= 1 kB")
    text = str(raised.value)
    assert f"kernels: {len(report.kernels)} (counted), at most 1 expected" in text
    assert "- k0 (" in text
    assert "peak_bytes: " in text
    assert "at most 1.00 kB expected" in text
    assert "above weights and inputs" in text
    assert "breaks" not in text


def test_what_a_record_cannot_tell_does_not_hold(report: wb.Report) -> None:
    with pytest.raises(wb.ExpectationError, match="fallbacks is unknown: only a session records"):
        wb.expect(report).fallbacks(0)
    with pytest.raises(
        wb.ExpectationError, match=r"peak_bytes is unknown: .* lacks the text of the"
    ):
        wb.expect("tests/records/mlp/static.wbr", peak_bytes="<= 1 GB")


def test_what_was_only_captured_has_no_kernels_to_count() -> None:
    explained = wb.explain(torch.relu, (torch.ones(3),))
    with pytest.raises(wb.ExpectationError, match="kernels is unknown: there is no generated"):
        wb.expect(explained, kernels=12)
    wb.expect(explained, breaks=0, graphs=1)


@pytest.mark.world("sessions")
def test_parts_that_a_record_misses_are_not_known(report: wb.Report) -> None:
    rows = [Capability("kernels", False, "this torch has no such hook")]
    blind = replace(report, tables={**report.tables, "capabilities": Table.of(Capability, rows)})
    with pytest.raises(wb.ExpectationError, match="kernels is unknown: this torch has no such"):
        wb.expect(blind, kernels=99)
    header = replace(ProgramHeader(), missing=(("breaks", "this torch has no such hook"),))
    with pytest.raises(wb.ExpectationError, match="breaks is unknown: this torch has no such"):
        wb.expect(require_program_records("a test").make(header, {}), breaks=0)


def test_a_peak_that_may_be_higher_than_counted_is_not_known(report: wb.Report) -> None:
    counted = wb.memory(report)
    partly = replace(counted, timeline=replace(counted.timeline, is_whole=False))
    unsure = replace(report)
    unsure._made[memory_module._counted] = partly
    with pytest.raises(wb.ExpectationError, match="peak_bytes is unknown: the peak may include"):
        wb.expect(unsure, peak_bytes="1 GB")


def test_a_compilation_that_failed_keeps_no_limit(report: wb.Report) -> None:
    failed = replace(report, outcome=Outcome(ok=False, step="compile", error="no"))
    with pytest.raises(wb.ExpectationError, match="unknown: the compilation failed\\."):
        wb.expect(failed, breaks=0)


def test_texts_keep_the_sign_of_their_word(report: wb.Report) -> None:
    with pytest.raises(wb.ExpectationError, match=r"at least 1.00 GB expected"):
        wb.expect(report).peak_bytes(min="1 GB")
    with pytest.raises(wb.UsageError, match=r"'<= >= 3' is not a limit"):
        wb.expect(report).kernels(max=">= 3")  # type: ignore[arg-type]


def test_wrong_names_and_words_are_refused(report: wb.Report) -> None:
    with pytest.raises(wb.UsageError, match="Unknown quantity 'brakes': expected breaks"):
        wb.expect(report, brakes=0)
    with pytest.raises(wb.UsageError, match=r"kernels\(most\): pass a maximum, or max="):
        wb.expect(report).kernels(most=3)
    with pytest.raises(wb.UsageError, match=r"kernels\(\): pass a maximum"):
        wb.expect(report).kernels()


def test_a_session_tells_all() -> None:
    def loop(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        print("step")
        return y.cos()

    torch.compiler.reset()
    with wb.session("full") as session:
        torch.compile(loop)(torch.randn(3))
    assert [q.name for q in read_quantities(session)] == list(QUANTITIES)
    assert all(q.value is not None for q in read_quantities(session))
    wb.expect(session, graphs="== 2", breaks=1, recompiles=0, fallbacks=0, kernels="== 2")
    with pytest.raises(wb.ExpectationError, match=r"breaks: 1 \(counted\), at most 0 expected"):
        wb.expect(session).breaks(0)
    with wb.session() as idle:
        pass
    with pytest.raises(wb.ExpectationError, match="Nothing was compiled"):
        wb.expect(idle).compiled_something()
