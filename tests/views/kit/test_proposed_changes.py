"""A change as a view shows it: a small diff with signs, and what to copy."""

from __future__ import annotations

from workbench.analysis.changes.change import Change, Edit, Setting
from workbench.views.kit.proposed_changes import list_change_lines, list_code_lines


def test_lines_that_stay_go_and_come_without_their_common_indentation() -> None:
    edit = Edit("m.py", 3, ("    y = x + 1", "    print(y)"), ("    y = x + 1", "    log(y)"))
    assert list_change_lines(Change((edit,))) == [
        (" ", "y = x + 1"),
        ("-", "print(y)"),
        ("+", "log(y)"),
    ]


def test_a_place_leads_each_edit_and_what_is_above_comes_first() -> None:
    edits = (Edit("m.py", 3, ("  a()",), ("  b()",)), Edit("m.py", 9, (), ("  c()",)))
    shown = list_change_lines(
        Change(edits, above=("import b",)), lambda edit: f"{edit.file}:{edit.line}"
    )
    assert shown == [
        ("+", "import b"),
        ("@", "m.py:3"),
        ("-", "  a()"),
        ("+", "  b()"),
        ("@", "m.py:9"),
        ("+", "  c()"),
    ]


def test_without_edits_it_is_what_stands_before_each_call_or_the_settings() -> None:
    assert list_change_lines(Change(before_call=("x = x.clone()",))) == [
        ("@", "before each call"),
        ("+", "x = x.clone()"),
    ]
    needed = Change((Edit("m.py", 1, ("a",), ("b",)),), settings=(Setting("x", 1),))
    assert list_change_lines(needed)[2:] == [
        ("@", "before it is compiled"),
        ("+", "torch._dynamo.config.x = 1"),
    ]
    settings = (Setting("capture_scalar_outputs", True),)
    assert list_change_lines(Change(settings=settings)) == [
        ("", "torch._dynamo.config.capture_scalar_outputs = True")
    ]
    assert list_code_lines("a\nb") == [("", "a"), ("", "b")]
