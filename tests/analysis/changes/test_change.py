"""A change is written once: as a unified diff, as code, and where the lines of its file are."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.analysis.changes.change import (
    Change,
    Edit,
    Setting,
    apply_edits,
    read_settings,
    split_text,
    write_diff,
)
from workbench.errors import UsageError

SOURCE = """import torch


def first(x):
    print(x)
    return x


@torch.no_grad()
def second(x):
    n = draw()
    return x * n
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(SOURCE)
    return path


def diff(file: Path, *changes: Change) -> str:
    return write_diff(changes, lambda edit: str(file) if edit.file == "~/program.py" else None)


GUARDED = Change(
    (Edit("~/program.py", 5, ("    print(x)",), ("    if not compiling:", "        print(x)")),)
)
DRAWN = Change(
    (Edit("~/program.py", 11, ("    n = draw()",), ("    n = draw_once()",)),),
    above=("def draw_once():", "    return draw()"),
)


def test_what_stands_above_is_over_its_definition_whatever_changes_before_it(file: Path) -> None:
    """It stood a line too early where a change before it in the file had added one."""
    found = diff(file, GUARDED, DRAWN)
    assert "+def draw_once():\n+    return draw()\n \n \n @torch.no_grad()\n def second(x)" in found
    assert "-    n = draw()\n+    n = draw_once()\n     return x * n\n" in found
    assert found.startswith("--- a/program.py\n+++ b/program.py\n")


def test_what_two_changes_have_above_is_written_once(file: Path) -> None:
    again = Change(
        (Edit("~/program.py", 12, ("    return x * n",), ("    return n * x",)),), above=DRAWN.above
    )
    assert diff(file, DRAWN, again).count("+def draw_once():") == 1


def test_a_line_that_was_recorded_without_its_indentation_gets_that_of_its_file(file: Path) -> None:
    stripped = Change((Edit("~/program.py", 5, ("print(x)",), ("a = 1", "b = 2")),))
    assert "-    print(x)\n+    a = 1\n+    b = 2\n" in diff(file, stripped)


def test_a_change_whose_lines_are_others_by_now_is_left_out(file: Path) -> None:
    edit = Edit("~/program.py", 5, ("print(y)",), ("pass",))
    assert diff(file, Change((GUARDED.edits[0], edit))) == ""
    assert diff(file, Change((Edit("~/gone.py", 5, ("print(x)",), ()),))) == ""
    with pytest.raises(
        UsageError, match=r"Line 5 of ~/program\.py has changed since it was recorded"
    ):
        edit.fit(SOURCE.split("\n"))


def test_an_insertion_stands_before_what_replaces_its_line() -> None:
    edits = [Edit("f", 2, (), ("new",)), Edit("f", 2, ("b",), ("B",))]
    for order in (edits, edits[::-1]):
        assert apply_edits(["a\n", "b\n", "c\n"], order) == ["a", "new", "B", "c"]


def test_changes_overlap_where_they_change_one_line() -> None:
    other = Change((Edit("~/program.py", 4, ("def first(x):", "    print(x)"), ()),))
    assert GUARDED.overlaps(other)
    assert not GUARDED.overlaps(DRAWN)


def test_code_has_the_lines_and_then_the_settings() -> None:
    options = (
        Setting("allow_rnn", True),
        Setting("ignore_logging_functions", "builtins.print", is_added=True),
    )
    assert Change(DRAWN.edits, DRAWN.above, settings=options).code.split("\n") == [
        "def draw_once():",
        "    return draw()",
        "    n = draw_once()",
        "torch._dynamo.config.allow_rnn = True",
        "import builtins",
        "torch._dynamo.config.ignore_logging_functions |= {builtins.print}",
    ]
    written = Change(settings=read_settings([("mode", "max-autotune"), ("a.b", 1), ("c", 2)]))
    assert written.code == "mode='max-autotune', options={'a.b': 1, 'c': 2}"


def test_what_a_change_does_stands_before_why() -> None:
    assert split_text("Leave .contiguous() out: it writes a copy.") == (
        "Leave .contiguous() out",
        "It writes a copy.",
    )
    assert split_text("Compile again.") == ("Compile again", "")
