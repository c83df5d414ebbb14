"""Faults that are put into a function, and which functions a test runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.__main__ import KEPT, MOST_ROOMS, say
from tests.mutants.mutant import Mutant, list_mutants
from tests.mutants.reach import FOLDER, PACKAGE, read_reach

SOURCE = '''
@cached
def name_of(item, known):
    """The name of an item."""
    if not known or item.size >= 8:
        known.clear()
    text = "no " + item.name

    def inner():
        return 3

    return known + item.size * 2
'''


def test_each_fault_is_one_part_of_a_line_of_its_own_function() -> None:
    found = [one for one in list_mutants("a.py", SOURCE) if one.function == "a.py:2"]
    assert {(one.before, one.after) for one in found} == {
        ("not known or item.size >= 8", "(not known and item.size >= 8)"),
        ("not known", "bool(known)"),
        ("item.size >= 8", "(item.size > 8)"),
        ("8", "9"),
        ("known.clear()", "pass"),
        ("return known + item.size * 2", "return None"),
        ("known + item.size * 2", "(known - item.size * 2)"),
        ("item.size * 2", "(item.size // 2)"),
        ("2", "3"),
    }


def test_a_fault_changes_its_place_alone_and_not_another_source() -> None:
    mutant = Mutant("a.py", "a.py:1", 2, 11, "n + 1", "(n - 1)")
    assert mutant.change("def f(n):\n    return n + 1\n") == "def f(n):\n    return (n - 1)\n"
    with pytest.raises(ValueError, match=r"a\.py:2 is not n \+ 1 any more"):
        mutant.change("def f(n):\n    return n\n")


def test_every_fault_is_python(tmp_path: Path) -> None:
    source = (PACKAGE / "number_text.py").read_text()
    mutants = [*list_mutants("number_text.py", source)]
    assert len(mutants) > 50
    for mutant in mutants:
        compile(mutant.change(source), "number_text.py", "exec")


def test_the_functions_of_a_test_are_written(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "from workbench.number_text import plural\n\n\ndef test_it():\n    plural(2, 'row')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.reach", str(tmp_path)]
    subprocess.run(
        command, cwd=PACKAGE.parent, env={FOLDER: str(tmp_path), "PYTHONPATH": "."}, check=True
    )
    reach = read_reach(tmp_path)
    source = (PACKAGE / "number_text.py").read_text().splitlines()
    line = next(at for at, text in enumerate(source, 1) if text.startswith("def plural("))
    (test,) = reach[f"number_text.py:{line}"]
    assert test.endswith("test_one.py::test_it")


def test_the_sentence_counts_what_all_tests_find() -> None:
    found = {"short": "a::test_x", "rest": None}
    late, lost = {"short": None, "rest": "a::test_y"}, {"short": None, "rest": None}
    assert say([found, late, lost]) == (
        "3 mutants in 3 rooms: all tests find 2, the short part 1 of them (50 %)."
    )


def test_the_short_part_finds_nine_of_ten_faults_that_all_tests_find() -> None:
    rows = json.loads(KEPT.read_text("utf-8"))
    assert len({row["file"].rpartition("/")[0] for row in rows}) == len(rows) == MOST_ROOMS
    found = [row for row in rows if row["short"] or row["rest"]]
    assert sum(bool(row["short"]) for row in found) >= 0.9 * len(found)
