"""The short part of the tests: what is quick, and one way through each door."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parts import (
    LONG_S,
    MOST_CASES,
    SEEN_S,
    Case,
    Durations,
    choose_rest,
    choose_short,
    read_durations,
    read_spine,
    write_durations,
)

ROOT = Path(__file__).parents[1]
SLOW = """
import time

import pytest


@pytest.fixture(scope="module")
def made():
    time.sleep(0.3)


def test_of_what_is_made(made): ...


def test_long():
    time.sleep(0.4)


def test_quick(): ...


@pytest.mark.parametrize("n", [1, 2, 3])
def test_listed(n): ...
"""


def run(folder: Path, *arguments: str) -> str:
    """What pytest prints of the tests of a folder, with this plugin alone."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.parts", "-v", "--rootdir", str(folder)]
    shown = subprocess.run(
        [*command, *arguments, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return shown.stdout


def test_what_is_quick_and_the_spine_are_short() -> None:
    cases = [Case("a.py::test_quick"), Case("a.py::test_long"), Case("a.py::test_whole_way")]
    seconds = {"a.py::test_long": LONG_S, "a.py::test_whole_way": 9.0}
    chosen = choose_short(cases, Durations(seconds, {}), ["a.py::test_whole_way"])
    assert chosen == {"a.py::test_quick", "a.py::test_whole_way"}


def test_a_list_that_takes_long_has_two_cases() -> None:
    cases = [Case(f"a.py::test_one[{n}]") for n in range(5)]
    listed = Durations(dict.fromkeys((case.id for case in cases), SEEN_S), {})
    assert len(choose_short(cases, listed, ())) == MOST_CASES
    assert len(choose_short(cases, Durations({}, {}), ())) == 5


def test_a_shared_fixture_is_counted_unless_the_spine_makes_it() -> None:
    cases = [Case("a.py::test_one", frozenset({"a.py::made"})), Case("a.py::test_way")]
    made = Durations({}, {"a.py::made": 5.0})
    assert choose_short(cases, made, ()) == {"a.py::test_way"}
    paid = [cases[0], Case("a.py::test_way", frozenset({"a.py::made"}))]
    assert choose_short(paid, made, ["a.py::test_way"]) == {"a.py::test_one", "a.py::test_way"}


def test_the_rest_keeps_what_shares_a_fixture_of_its_file() -> None:
    page, lab = frozenset({"a.py::page"}), frozenset({"folder::lab"})
    cases = [
        Case("a.py::test_opens", page),
        Case("a.py::test_long", page | lab),
        Case("a.py::test_alone"),
        Case("b.py::test_other", lab),
    ]
    short = {"a.py::test_opens", "a.py::test_alone", "b.py::test_other"}
    assert choose_rest(cases, short) == {"a.py::test_opens", "a.py::test_long"}


def test_what_was_measured_is_read_back(tmp_path: Path) -> None:
    found = Durations({"a.py::test_x[b::c]": 2.345, "a.py::test_y": 0.01}, {"a.py::made": 3.0})
    write_durations(tmp_path / "new" / "file.json", found)
    again = read_durations(tmp_path / "new" / "file.json")
    assert again == Durations({"a.py::test_x[b::c]": 2.35}, {"a.py::made": 3.0})


@pytest.mark.parametrize("processes", [(), ("-n", "2")])
def test_a_run_writes_its_durations(tmp_path: Path, processes: tuple[str, ...]) -> None:
    (tmp_path / "test_slow.py").write_text(SLOW)
    written = tmp_path / "durations.json"
    run(tmp_path, "--durations-file", str(written), *processes)
    found = json.loads(written.read_text())
    assert list(found["tests"]) == ["test_slow.py"]
    assert list(found["tests"]["test_slow.py"]) == ["test_long"]
    assert found["tests"]["test_slow.py"]["test_long"] >= 0.4
    assert found["fixtures"]["test_slow.py::made"] >= 0.3


def test_the_two_parts_are_all(tmp_path: Path) -> None:
    doors = {test.partition("::")[0] for test in read_spine()}
    long = (test.split("::") for test, s in read_durations().tests.items() if s >= LONG_S)
    file, name = next(t for t in long if len(t) == 2 and "[" not in t[1] and t[0] not in doors)
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(f"def {name}(): ...\n\n\ndef test_new(): ...\n")
    short, rest = (run(tmp_path, "--part", part) for part in ("short", "rest"))
    assert "test_new PASSED" in short
    assert f"{name} PASSED" in rest
    assert "1 passed, 1 deselected" in short
    assert "1 passed, 1 deselected" in rest


def test_the_spine_names_tests_once_and_each_door_has_one() -> None:
    spine = read_spine()
    assert len(spine) == len(set(spine))
    assert 60 <= len(spine) <= 80
    for test in spine:
        path, _, name = test.partition("::")
        if path.startswith("tests/worlds/") and not (ROOT / path).exists():
            continue  # a world that was deleted: see `tests.worlds.without`
        assert f"def {name.partition('[')[0].rpartition('::')[2]}(" in (ROOT / path).read_text(), (
            test
        )


def test_a_name_of_the_spine_that_is_no_test_stops_the_run(tmp_path: Path) -> None:
    path = read_spine()[0].partition("::")[0]
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("def test_other(): ...\n")
    with pytest.raises(subprocess.CalledProcessError) as raised:
        run(tmp_path, "--part", "short")
    assert "spine.txt names tests that do not exist" in raised.value.stderr + raised.value.stdout
