"""The parts that tests are run in: a short one, which `make test` runs, and the rest.

The short part has every test below one second and the spine: one way through each door, from the
call of a user to its end. Durations are measured: `--durations-file` writes them, and the file of
them is `tests/durations.json`. A test that it does not name is new, and in the short part.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from tests.groups import SHARED

TESTS = Path(__file__).parent
MEASURED = TESTS / "durations.json"
SPINE = TESTS / "spine.txt"
LONG_S = 1.0
"""From here on a test is in the rest."""
SEEN_S = 0.2
"""From here on a test is in the file of durations, and of a list two cases are short."""
MOST_CASES = 2
_SHARED = "seconds of shared fixtures"


@dataclass(frozen=True)
class Durations:
    """Seconds of each test without the fixtures that several share, and of those; 0 if unknown."""

    tests: Mapping[str, float]
    fixtures: Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """A test as it is collected: its id and the fixtures that it shares with others."""

    id: str
    shared: frozenset[str] = frozenset()

    @property
    def function(self) -> str:
        """The id without the case of a list."""
        return self.id.partition("[")[0]


def read_durations(path: Path = MEASURED) -> Durations:
    """The measured seconds as they are committed."""
    saved = json.loads(path.read_text())
    tests = {f"{file}::{name}": s for file, of in saved["tests"].items() for name, s in of.items()}
    return Durations(tests, saved["fixtures"])


def write_durations(path: Path, found: Durations) -> None:
    """Keep what takes long enough to matter, by file."""
    tests: dict[str, dict[str, float]] = {}
    for test, seconds in sorted(found.tests.items()):
        file, _, name = test.partition("::")
        if seconds >= SEEN_S and file.endswith(".py"):
            tests.setdefault(file, {})[name] = round(seconds, 2)
    fixtures = {
        name: round(seconds, 2)
        for name, seconds in sorted(found.fixtures.items())
        if seconds >= SEEN_S
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"fixtures": fixtures, "tests": tests}, indent=0) + "\n")


def read_spine(path: Path = SPINE) -> list[str]:
    """The ids of the tests that go one whole way each; a line that begins with # names the door."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def choose_short(
    cases: Sequence[Case], durations: Durations, spine: Collection[str]
) -> frozenset[str]:
    """The ids of the short part.

    A fixture that a test of the spine makes anyway costs the others nothing.
    """
    paid = {name for case in cases if case.id in spine for name in case.shared}
    listed: Counter[str] = Counter()
    chosen = set(spine)
    for case in cases:
        unpaid = sum(durations.fixtures.get(name, 0.0) for name in case.shared - paid)
        seconds = durations.tests.get(case.id, 0.0) + unpaid
        if case.id in chosen or seconds >= LONG_S:
            continue
        listed[case.function] += seconds >= SEEN_S
        if seconds < SEEN_S or listed[case.function] <= MOST_CASES:
            chosen.add(case.id)
    return frozenset(chosen)


def choose_rest(cases: Sequence[Case], short: Collection[str]) -> frozenset[str]:
    """The ids of all others, with the short ones that share a page or another fixture of a file.

    One of them may go on where the one before it ended.
    """
    rest = [case for case in cases if case.id not in short]
    kept = {name for case in rest for name in case.shared if name.split("::")[0].endswith(".py")}
    return frozenset(case.id for case in cases if case.id not in short or case.shared & kept)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("parts")
    group.addoption("--part", choices=("short", "rest"), help="run one part of the tests only")
    group.addoption("--durations-file", help="write the seconds of what was run to this file")


@pytest.hookimpl(tryfirst=True)  # xdist adds a group to the ids after this
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part = config.getoption("--part")
    if part is None:
        return
    spine = frozenset(read_spine())
    cases = [Case(each.nodeid, _shared_of(each)) for each in items if _is_test(each)]
    _refuse_lost({case.id for case in cases}, spine)
    whole = {item.nodeid for item in items if not _is_test(item)}
    short = choose_short(cases, read_durations(), spine) | whole
    chosen = short if part == "short" else choose_rest(cases, short)
    left_out = [item for item in items if item.nodeid not in chosen]
    items[:] = [item for item in items if item.nodeid in chosen]
    config.hook.pytest_deselected(items=left_out)


def _is_test(item: pytest.Item) -> bool:
    """Whether it stands for itself: the cells of a notebook need one another."""
    return isinstance(item, pytest.Function)


def _refuse_lost(found: Collection[str], spine: Iterable[str]) -> None:
    """A name of the spine that no test has any more."""
    files = {test.partition("::")[0] for test in found}
    if lost := [test for test in spine if test.partition("::")[0] in files and test not in found]:
        raise pytest.UsageError(f"{SPINE.name} names tests that do not exist: {', '.join(lost)}.")


def _shared_of(item: pytest.Item) -> frozenset[str]:
    """The fixtures of a wider scope than the test's own that it asks for."""
    known = getattr(item, "_fixtureinfo", None)
    definitions = known.name2fixturedefs.values() if known is not None else ()
    return frozenset(_name(each[-1]) for each in definitions if each[-1].scope != "function")


def _name(definition: pytest.FixtureDef[Any]) -> str:
    return f"{definition.baseid}::{definition.argname}"


# what was run, with its seconds: a process of xdist hands them on with its reports


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Measure what several tests share."""
    start = perf_counter()
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            item = request._pyfuncitem
            item.user_properties.append((_SHARED, [_name(fixturedef), perf_counter() - start]))


class Measuring:
    """Adds up what reports say, and writes the file at the end."""

    def __init__(self, path: Path):
        self.path = path
        self._tests: defaultdict[str, float] = defaultdict(float)
        self._fixtures: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a phase of a test."""
        test = report.nodeid
        for group in SHARED:  # xdist writes it behind the id
            test = test.removesuffix(f"@{group}")
        self._tests[test] += report.duration
        if report.when != "setup":
            return
        shared: list[Any] = [value for key, value in report.user_properties if key == _SHARED]
        for name, seconds in shared:
            self._tests[test] -= seconds
            self._fixtures[name] = max(seconds, self._fixtures.get(name, 0.0))

    def pytest_sessionfinish(self) -> None:
        """Write what was measured."""
        write_durations(self.path, Durations(self._tests, self._fixtures))


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--durations-file")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Measuring(Path(path)), "measured durations")


def main(paths: Sequence[str]) -> None:
    """Make the files of several runs the one that is committed."""
    runs = [read_durations(Path(path)) for path in paths]
    tests = {name: seconds for run in runs for name, seconds in run.tests.items()}
    fixtures = {name: seconds for run in runs for name, seconds in run.fixtures.items()}
    write_durations(MEASURED, Durations(tests, fixtures))


if __name__ == "__main__":
    main(sys.argv[1:])
