"""What triton-viz says of a call is its own verdict; where it says nothing, that is said."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import workbench as wb
from tests.worlds.own_kernels.programs.cases import CASES
from tests.worlds.own_kernels.programs.faults import FAULTS
from tests.worlds.own_kernels.programs.gluon_kernels import PLAIN, copy_transposed
from tests.worlds.own_kernels.programs.rights import RIGHTS
from workbench.analysis.kernel_checks.kernel_check import KernelCheck
from workbench.compiler.kernel_checks.kernel_checking import find_release
from workbench.report import Report
from workbench.views.panes import checks_pane
from workbench.views.panes.pane import ViewContext

PACKAGE = """
import os, time
from types import SimpleNamespace as Bare

class Load: pass
class Store: pass

def trace(client):
    def wrap(kernel):
        class Traced:
            def __getitem__(self, grid):
                return lambda *args, **named: act(client, kernel, grid, args, named)
        return Traced()
    return wrap

def report(client, kernel, does, name, more):
    code = kernel.fn.__code__
    place = Bare(filename=code.co_filename, lineno=code.co_firstlineno + more)
    for _ in range(2):
        client.records.append(Bare(op_type=does, tensor_name=name, user_code_tracebacks=[place]))

def act(client, kernel, grid, args, named):
    {act}
"""
CLIENTS = """
class Sanitizer:
    def __init__(self, abort_on_error):
        assert abort_on_error is False
        self.records = []
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a package of the name that does what is told, in the process that is asked."""

    def write(act: str) -> None:
        home = tmp_path / "triton_viz"
        home.mkdir()
        (home / "__init__.py").write_text(PACKAGE.replace("{act}", act))
        (home / "clients.py").write_text(CLIENTS)
        about = tmp_path / "triton_viz-9.9.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: triton-viz\nVersion: 9.9\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        importlib.invalidate_caches()

    return write


def check(make: Any, **asked: Any) -> KernelCheck:
    case = make()
    k = wb.kernel(case.kernel, *case.args, grid=case.grid, target="h100", **case.meta)
    return k.check(**{"cases": None, **asked})


@triton.jit
def leaves_off_the_diagonal(x, out, B: tl.constexpr):
    i, j = tl.arange(0, B), tl.arange(0, B)
    at = (i[:, None] - j[None, :]) * 100
    tl.store(out + i[:, None] * B + j[None, :], tl.load(x + at * at))


@triton.jit
def adds_behind_the_end(x, out, B: tl.constexpr):
    tl.atomic_add(x + tl.arange(0, B) + 8, 1.0)


@triton.jit
def copies_in_a_line(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at))


def make_gluon() -> Any:
    sizes = {"M": 64, "N": 64, "SHARED": PLAIN}
    x, out = torch.ones(64, 64), torch.empty(64, 64)
    return wb.kernel(copy_transposed, x, out, grid=(1,), target="h100", **sizes)


def test_nothing_found_is_its_own_row_and_no_proof(stand_in: Any) -> None:
    stand_in("assert (grid, [*named]) == ((4, 1, 1), ['x', 'y', 'out', 'n', 'BLOCK'])")
    found = check(CASES["add"])
    own, other = found.cases
    assert (own.verdict, own.by) == ("passed", "")
    assert (other.verdict, other.by) == ("nothing found", "triton-viz 9.9")
    assert found.ok is True
    assert found.require() is found
    assert repr(found) == "KernelCheck(add, 1 call: nothing found)"
    assert "triton-viz 9.9 found no out-of-bounds access" in found.sentence
    assert "Not a proof" in found.sentence
    assert list(found.frame("cases")["by"]) == ["", "triton-viz 9.9"]


def test_what_the_run_of_every_program_contradicts_is_said_and_is_no_finding(
    stand_in: Any, tmp_path: Path
) -> None:
    stand_in("report(client, kernel, Load, 'x', 2)")
    found = check(CASES["add"])
    assert [case.verdict for case in found.cases] == ["passed", "contradicted"]
    (row,) = found.findings  # it reported the place twice
    assert (row.kind, row.by, row.argument) == ("not judged", "triton-viz 9.9", "x")
    assert "reports that line " in row.text
    assert row.text in found.sentence
    assert found.ok is True
    assert found.require() is found
    found.report.save(tmp_path / "k.wbr")
    (kept,) = wb.Report.load(tmp_path / "k.wbr").kernel_findings
    assert kept == row
    assert say_calls(found.report)[1] == "add, by triton-viz 9.9: contradicted"


def say_calls(report: Report) -> list[str]:
    made = checks_pane.document(report, ViewContext())
    calls: list[str] = made.data["checks"]["calls"]
    return calls


def test_where_not_every_program_was_run_it_is_a_finding(stand_in: Any) -> None:
    stand_in("report(client, kernel, Store, 'out', 3)")
    found = check(CASES["add"], sample=1)
    (row,) = found.findings
    assert (row.kind, row.by) == ("out of bounds", "triton-viz 9.9")
    assert row.text.startswith("Out of bounds (reported by triton-viz 9.9): line ")
    assert found.cases[-1].verdict == "failed"
    assert found.ok is False
    with pytest.raises(wb.ExpectationError, match=r"Out of bounds \(reported by triton-viz"):
        found.require()
    found.require(allow=("out of bounds",))


def test_of_a_line_whose_programs_were_not_all_run_each_argument_is_told(stand_in: Any) -> None:
    stand_in("report(client, kernel, Load, 'x', 3), report(client, kernel, Store, 'y', 3)")
    x, y = torch.ones(10), torch.ones(64)
    k = wb.kernel(copies_in_a_line, x, y, grid=(2,), target="h100", B=64)
    found = k.check(cases=None, sample=1)
    assert [(row.argument, row.by) for row in found.findings] == [
        ("x", ""),
        ("y", "triton-viz 9.9"),  # of the program that was not run
    ]


def test_a_view_with_gaps_is_given_from_the_start_of_a_storage(stand_in: Any) -> None:
    """Release 3.0 adds the offset of such a view to its address, which has it already."""
    stand_in("assert (named['x'].storage_offset(), named['x'].stride()) == (0, (100, 1))")
    assert check(RIGHTS["copies_a_view"]).cases[1].verdict == "nothing found"


def test_a_line_that_the_run_has_found_is_not_said_twice(stand_in: Any) -> None:
    stand_in("report(client, kernel, Load, 'x', 3)")
    found = check(FAULTS["without_mask"])
    assert {row.by for row in found.findings} == {""}
    assert found.cases[-1].verdict == "failed"


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ("raise NotImplementedError('no such\\n  operation')", "NotImplementedError: no such op"),
        ("raise SystemExit(1)", "SystemExit: 1"),
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
        ("os._exit(7)", "its process ended with code 7"),
        ("os.kill(os.getpid(), 9)", "its process was ended by signal 9"),
        ("client.records.append(Bare())", "AttributeError: "),
    ],
    ids=["raises", "exits", "lacks", "ends", "is killed", "says otherwise"],
)
def test_every_failure_is_not_judged_with_its_reason(stand_in: Any, act: str, reason: str) -> None:
    stand_in(act)
    found = check(CASES["add"])
    assert found.cases[1].verdict == "not checked"
    assert f"Not judged by triton-viz 9.9: {reason}" in found.sentence
    assert found.ok is True
    assert found.require() is found


def test_it_is_ended_after_the_time_limit(stand_in: Any) -> None:
    stand_in("time.sleep(60)")
    found = check(CASES["add"], time_limit=8.0)
    assert "Not judged by triton-viz 9.9: it took longer than 8 s." in found.sentence


def test_it_is_left_out_where_that_is_wanted(stand_in: Any) -> None:
    stand_in("pass")
    assert len(check(CASES["add"], triton_viz=False).cases) == 1


def test_it_never_makes_a_kernel_of_gluon_checked(stand_in: Any) -> None:
    stand_in("pass")
    found = make_gluon().check()
    assert [case.verdict for case in found.cases] == ["not checked", "nothing found"]
    assert found.ok is None
    assert "Nothing was checked: Gluon kernels" in found.sentence
    assert "triton-viz 9.9 found no out-of-bounds access" in found.sentence
    with pytest.raises(wb.ExpectationError):
        found.require()


@pytest.mark.skipif(find_release() is None, reason="triton-viz is not installed")
class TestTheRealOne:
    @pytest.mark.parametrize("fn", [leaves_off_the_diagonal, adds_behind_the_end])
    def test_nothing_found_is_no_proof(self, fn: Any) -> None:
        k = wb.kernel(fn, torch.zeros(16), torch.zeros(16, 16), grid=(1,), target="h100", B=16)
        found = k.check(cases=None)
        assert {row.by for row in found.findings} == {""}  # those of the run under watch
        assert found.ok is False
        assert found.cases[1].verdict == "nothing found"  # where it is cured, the guide says so

    def test_it_finds_an_access_that_was_not_run(self) -> None:
        found = check(FAULTS["without_mask"], sample=1)
        assert {row.by for row in found.findings if row.kind == "out of bounds"} == {find_release()}
        assert {row.argument for row in found.findings} == {"x", "y", "out"}

    @pytest.mark.parametrize("name", ["add", "softmax", "matmul", "attention", "layer_norm"])
    def test_right_kernels_are_judged_without_a_finding(self, name: str) -> None:
        assert check(CASES[name]).cases[1].verdict == "nothing found"

    @pytest.mark.parametrize("sample", [None, 1])
    def test_a_right_copy_of_a_view_is_no_finding(self, sample: int | None) -> None:
        found = check(RIGHTS["copies_a_view"], sample=sample)
        assert found.cases[1].verdict == "nothing found"
        assert found.ok is True

    @pytest.mark.parametrize(
        "name", [n for n in ("block_pointers", "descriptors", "dropout") if n in CASES]
    )
    def test_what_it_does_not_follow_is_not_judged(self, name: str) -> None:
        found = check(CASES[name])
        assert found.ok is True
        assert f"Not judged by {find_release()}: " in found.sentence

    def test_gluon_is_not_judged(self) -> None:
        found = make_gluon().check()
        assert found.cases[1].verdict == "not checked"
        assert f"Not judged by {find_release()}: " in found.sentence


def test_nothing_of_it_is_imported_here() -> None:
    assert "triton_viz" not in sys.modules
