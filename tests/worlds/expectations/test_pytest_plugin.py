"""The marker and the fixture `compiles`, in tests of a user's own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.report.program.program_record import ProgramRecord, require_program_records
from workbench.report.program.record_rows import ProgramHeader
from workbench.worlds.expectations.pytest_plugin import Compiles

pytest_plugins = ["pytester"]

HEAD = """
import pytest
import torch
import workbench as wb

X = torch.ones(4, 4)


def add(x):
    return torch.relu(x + 1)


def broken(x):
    y = x.sin()
    print("here")
    return y.cos()


@pytest.fixture(autouse=True)
def fresh():
    torch.compiler.reset()
"""


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """A run inside of this one forgets what it imports, and torch cannot be imported again."""
    with wb.session("full") as session:
        torch.compile(lambda x: x.sin() @ x)(torch.ones(4, 4))
    wb.expect(session, breaks=0, peak_bytes="<= 1 MB")
    wb.expect(wb.aot_compile(lambda x: x.cos(), (torch.ones(4),)), kernels=1)


def run(pytester: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(test_theirs=HEAD + body)
    return pytester.runpytest("-p", "no:cacheprovider", *options)


def test_what_plain_torch_compile_does_in_a_test_is_checked(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.compiles(breaks=0, recompiles=0, graphs=1)
def test_whole():
    torch.compile(add, backend="eager")(X)


@pytest.mark.compiles(breaks=0, graphs=1)
def test_in_parts():
    torch.compile(broken, backend="eager")(X)


@pytest.mark.compiles(recompiles=0)
def test_again():
    fast = torch.compile(add, backend="eager", dynamic=False)
    fast(X)
    fast(torch.ones(5, 4))
"""
    result = run(pytester, body)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "*breaks: 1 (counted), at most 0 expected",
            '*broken (line 14): print("here")*',
            "*graphs: 2 (counted), at most 1 expected",
            "*recompiles: 1 (counted), at most 0 expected",
            "*add (0/1): tensor 'x' size mismatch at index 0. expected 4, actual 5*",
        ]
    )


def test_what_is_given_to_the_fixture_is_checked(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.compiles(breaks=0, kernels="== 1", peak_bytes="<= 1 kB")
def test_small(compiles):
    compiled = compiles(wb.aot_compile(add, (X,)))
    assert torch.equal(compiled(X), add(X))


@pytest.mark.compiles(kernels=0, peak_bytes="<= 64 B", compile_s="<= 10 min")
def test_less(compiles):
    compiles(wb.aot_compile(add, (X,)))


@pytest.mark.compiles(fallbacks=0)
def test_it_cannot_tell(compiles):
    compiles(wb.aot_compile(add, (X,)))


@pytest.mark.compiles(breaks=0)
def test_nothing_given(compiles):
    pass
"""
    result = run(pytester, body)
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines_random(
        [
            "*kernels: 1 (counted), at most 0 expected",
            "*k0 (cpp_fused_add_relu_0)",
            "*peak_bytes: 128 B (counted), at most 64 B expected",
            "*fallbacks is unknown: only a session records frames*",
            "*The fixture compiles was not called*",
        ]
    )


def test_more_than_the_baseline_fails_with_what_differs(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.compiles
def test_kernels(compiles):
    compiles(wb.aot_compile(add, (X,)))
"""
    run(pytester, body).stdout.fnmatch_lines(
        ["*baseline test_theirs/test_kernels.wbr does not exist*"]
    )
    run(pytester, body, "--compiles-update").assert_outcomes(passed=1)
    assert Path(pytester.path, "__compiles__/test_theirs/test_kernels.wbr").exists()
    run(pytester, body).assert_outcomes(passed=1)
    more = body.replace("compile(add, (X,))", "compile(lambda x: add(x) @ x, (X,))")
    result = run(pytester, more)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*Exceeds its baseline (test_kernels.wbr)*", "*kernels: 2, baseline 1", "Diff*"]
    )


def test_a_test_that_compiles_nothing_does_not_pass(pytester: pytest.Pytester) -> None:
    body = """
FAST = torch.compile(add, backend="eager")


@pytest.fixture(autouse=True)
def before(fresh):
    FAST(X)


@pytest.mark.compiles(breaks=0)
def test_it_is_there_already():
    FAST(X)


@pytest.mark.compiles(breaks="few")
def test_no_limit():
    torch.compile(add, backend="eager")(X)


@pytest.mark.compiles(brakes=0)
def test_no_name():
    torch.compile(add, backend="eager")(X)


@pytest.mark.compiles(baseline="old")
def test_no_baseline():
    torch.compile(add, backend="eager")(X)
"""
    result = run(pytester, body)
    result.assert_outcomes(failed=4)
    assert "During handling" not in result.stdout.str()
    result.stdout.fnmatch_lines_random(
        [
            "*Nothing was compiled, so no limit can be checked.*",
            "*breaks='few' is not a limit*",
            "*Unknown quantity 'brakes': expected breaks, recompiles*",
            "*baseline='old': pass True to require a baseline, False for none.",
        ]
    )


def test_a_test_that_fails_says_only_that(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.compiles(breaks=0)
def test_wrong():
    torch.compile(broken, backend="eager")(X)
    assert False, "their own"
"""
    result = run(pytester, body)
    result.assert_outcomes(failed=1)
    assert "at most 0 expected" not in result.stdout.str()


def test_sessions_of_the_fixture_are_checked_and_nothing_is_left(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.compiles(breaks=1, graphs="<= 2")
def test_session(compiles):
    with compiles.session("light") as session:
        torch.compile(broken, backend="eager")(X)
    assert len(session.frame("breaks")) == 1


def test_no_marker():
    torch.compile(broken, backend="eager")(X)
"""
    run(pytester, body).assert_outcomes(passed=2)


def test_a_marker_that_would_be_passed_over_is_refused(pytester: pytest.Pytester) -> None:
    body = """
import unittest


class Theirs(unittest.TestCase):
    @pytest.mark.compiles(breaks=0)
    def test_method(self):
        torch.compile(broken, backend="eager")(X)


@pytest.mark.compiles(0)
def test_unnamed():
    torch.compile(broken, backend="eager")(X)
"""
    result = run(pytester, body)
    assert "passed" not in result.parseoutcomes()
    result.stdout.fnmatch_lines_random(
        ["*works only for functions*wb.expect(session, breaks=0)*", "*compiles(0): name the limit*"]
    )


def test_every_test_has_a_baseline_of_its_own(pytester: pytest.Pytester) -> None:
    body = """
RECORD = wb.Report()


@pytest.fixture
def first(compiles):
    compiles(RECORD)


class TestOne:
    def test_same(self, first): ...


class TestOther:
    def test_same(self, first): ...


@pytest.mark.parametrize("name", ["a/b", "a:b", "x" * 400])
def test_named(first, name): ...
"""
    run(pytester, body, "--compiles-update").assert_outcomes(passed=5)
    files = sorted(path.name for path in Path(pytester.path, "__compiles__").rglob("*.wbr"))
    assert len(files) == 5
    assert files[0].startswith("TestOne_test_same-")
    run(pytester, body).assert_outcomes(passed=5)


@pytest.mark.world("sessions")
def test_the_file_of_a_session_is_a_record(tmp_path: Path) -> None:
    require_program_records("a test").make(ProgramHeader(), {}).save(tmp_path / "run.wbs")
    compiles = Compiles()
    compiles(tmp_path / "run.wbs")
    assert isinstance(compiles.records[0], ProgramRecord)
    wb.expect(tmp_path / "run.wbs", graphs=0)
