"""The marker and the fixture `compiles`: what a test's code may compile to.

Nothing of torch is imported before a test uses them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from workbench.analysis.quantities.quantities import Record
    from workbench.report.program.program_record import Capture, ProgramRecord, Steps

_MARKER = "compiles"
_FOLDER = "__compiles__"
_LONGEST = 120  # characters of a file's name
_WHOLE = ("kernels", "peak_bytes")  # what torch's caches would hide
_HELP = (
    "compiles(breaks=0, recompiles=0, fallbacks=0, graphs=1, kernels='<= 12', peak_bytes='<= 1 GB',"
    " compile_s='<= 30 s', baseline=None): limits on what the test compiles. A number is a "
    "maximum. baseline=True requires a baseline, False ignores it."
)


class Compiles:
    """What a test compiled and wants to be checked."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def __call__(self, x: Any) -> Any:
        """Check this one when the test has passed; returns it.

        `x` is what `aot_compile`, `package`, `load`, `inspect` or `explain` returned, a report, a
        session, or the path of a file.
        """
        from workbench.artifacts.records.report_in import record_of

        self.records.append(record_of(x))
        return x

    @contextmanager
    def session(
        self,
        capture: Capture = "full",
        steps: Steps = None,
    ) -> Iterator[ProgramRecord]:
        """A `wb.session` that is checked when the test has passed."""
        from workbench.report.program.program_record import require_program_records

        records = require_program_records("compiles.session()")
        with records.record(capture, steps) as recorded:
            yield recorded
        self.records.append(recorded)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--compiles-update`."""
    parser.getgroup("compiles", "limits on compilations").addoption(
        "--compiles-update",
        action="store_true",
        help=f"write the baselines into {_FOLDER} next to each test file",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker."""
    config.addinivalue_line("markers", _HELP)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail where the marker would be passed over in silence."""
    marker = item.get_closest_marker(_MARKER)
    if marker is None:
        return
    if marker.args:
        given = ", ".join(map(repr, marker.args))
        pytest.fail(f"compiles({given}): name the limit, as in compiles(breaks=0).", pytrace=False)
    if not isinstance(item, pytest.Function) or _is_unittest(item):
        pytest.fail(
            "The marker compiles works only for functions and methods of plain classes. In a "
            "unittest.TestCase, call wb.expect(session, breaks=0).",
            pytrace=False,
        )


def _is_unittest(item: pytest.Function) -> bool:
    """Whether pytest leaves the call to unittest, which the hook below does not see."""
    import unittest

    return isinstance(item.cls, type) and issubclass(item.cls, unittest.TestCase)


@pytest.fixture
def compiles() -> Compiles:
    """Call it with what was compiled: it is checked against the marker and the baseline."""
    return Compiles()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Check what a test compiled once it has passed; without the fixture all that it compiles."""
    marker = pyfuncitem.get_closest_marker(_MARKER)
    given = pyfuncitem.funcargs.get("compiles")
    if marker is None and not isinstance(given, Compiles):
        return (yield)
    contract = _Contract(pyfuncitem, dict(marker.kwargs) if marker is not None else {})
    contract.check_limits()
    if isinstance(given, Compiles):
        result = yield
        contract.check(given.records)
        return result
    whole = contract.path(0, "wbs").exists() or any(name in contract.limits for name in _WHOLE)
    records = Compiles()
    with records.session("full" if whole or contract.is_updating else "light"):
        result = yield
    contract.check(records.records)
    return result


class _Contract:
    """The limits of one test, and its baselines."""

    def __init__(self, item: pytest.Function, limits: dict[str, Any]):
        self._item = item
        self._baseline = limits.pop("baseline", None)
        self.limits: Mapping[str, Any] = limits
        self.is_updating = bool(item.config.getoption("compiles_update"))

    def path(self, number: int, suffix: str) -> Path:
        """Where a baseline is kept: of the first record under the name of the test."""
        inside = (
            n for n in self._item.listchain() if isinstance(n, pytest.Class | pytest.Function)
        )
        name = _file_name("::".join(node.name for node in inside))
        more = f"-{number + 1}" if number else ""
        folder = self._item.path.parent / _FOLDER / self._item.path.stem
        return folder / f"{name}{more}.{suffix}"

    def check_limits(self) -> None:
        """Fail before the test runs where a limit cannot be read."""
        from workbench.errors import UsageError
        from workbench.worlds.expectations.expectation import read_limits

        if self._baseline not in (None, True, False):
            text = f"baseline={self._baseline!r}: pass True to require a baseline, False for none."
            pytest.fail(text, pytrace=False)
        try:
            read_limits(self.limits)
        except UsageError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None

    def check(self, records: list[Record]) -> None:
        """Fail the test with every sentence that does not hold, or write its baselines."""
        from workbench.errors import ExpectationError, UsageError

        if not records:
            pytest.fail(
                "The fixture compiles was not called: call compiles(compiled).", pytrace=False
            )
        wrong = []
        for number, record in enumerate(records):
            try:
                self._check_one(record, number)
            except (ExpectationError, UsageError) as error:
                wrong.append(str(error))
        if wrong:
            pytest.fail("\n".join(wrong), pytrace=False)

    def _check_one(self, record: Record, number: int) -> None:
        from workbench.worlds.expectations.baseline import check_baseline, get_suffix
        from workbench.worlds.expectations.expectation import Expectation

        Expectation(record).compiled_something().all(self.limits)
        path = self.path(number, get_suffix(record))
        if self.is_updating and self._baseline is not False:
            path.parent.mkdir(parents=True, exist_ok=True)
            record.save(path)
        elif self._baseline or (self._baseline is None and (path.exists() or not self.limits)):
            check_baseline(record, path)


def _file_name(test: str) -> str:
    """The name of a test as that of a file; what is lost of it is told apart by a digest."""
    kept = re.sub(r"[^\w.-]+", "_", test).strip("_")[:_LONGEST]
    digest = hashlib.sha256(test.encode()).hexdigest()[:8]
    return kept if kept == test else f"{kept}-{digest}"
