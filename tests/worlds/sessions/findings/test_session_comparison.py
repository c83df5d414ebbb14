from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import workbench as wb
from tests.analysis.diff.test_named_changes import thrice, twice
from tests.worlds.sessions.rows.sample import session
from workbench.report import Table
from workbench.worlds.sessions.rows.session_record import Session, make_empty_tables


def mended() -> Session:
    """The same loop after the advice was followed: one compile, nothing again, no break."""
    before = session()
    steps = [
        replace(step, wall_ms=10.0 + 2000.0 * (step.step == 0), compile_s=2.0 * (step.step == 0))
        for step in before.tables["steps"]
    ]
    first = [row for row in before.tables["compiles"] if row.kind == "first"]
    tables = {
        **make_empty_tables(),
        "compiles": Table.of(type(first[0]), first),
        "steps": Table.of(type(steps[0]), steps),
    }
    return Session(before.header, tables, {})


def test_it_says_what_is_gone_and_how_much_less_is_compiled() -> None:
    found = wb.diff(session(), mended(), names=("before", "after"))
    text = repr(found)
    assert text.startswith("before → after\n")
    for line in ("compiles", "3 → 1", "breaks", "1 → 0", "compiling", "4.00 s → 2.00 s"):
        assert line in text
    assert "gone  recompile Net.forward (train.py:12): x.size()[0]" in text
    assert "gone  break     Net.forward (train.py:14): print(y)" in text
    assert "the median step" not in text  # 10 ms in both
    frame = found.frame().set_index("what")
    assert frame.loc["the median step"].to_dict() == {"a": 0.01, "b": 0.01, "unit": "s"}
    assert list(found.place_frame().is_gone) == [True, True, True]


def test_the_other_way_round_they_are_new() -> None:
    found = wb.diff(mended(), session())
    assert {one.kind for one in found.places if not one.is_gone} == {
        "break",
        "recompile",
        "fallback",
    }


def test_a_session_is_the_same_as_itself() -> None:
    assert repr(wb.diff(session(), session())) == "a → b: nothing differs"


def test_steps_that_never_came_are_no_number() -> None:
    empty = Session(session().header, make_empty_tables(), {})
    assert wb.diff(empty, session()).frame().set_index("what").a.isna()["the median step"]


def test_a_session_is_not_compared_with_a_report() -> None:
    with pytest.raises(wb.UsageError, match=r"s\.report\(0\) is a report"):
        wb.diff(session(), session().report(0))


def test_a_session_that_found_its_graphs_in_a_cache_says_so() -> None:
    before = session()
    rows = [replace(row, cache="FX graph miss") for row in before.tables["compiles"]]
    found = [replace(row, cache="FX graph hit, AOTAutograd hit") for row in rows]
    kind = type(rows[0])
    pair = [
        Session(before.header, {**before.tables, "compiles": Table.of(kind, each)}, {})
        for each in (rows, found)
    ]
    assert f"graphs from a cache: 0 → {len(rows)}" in wb.diff(*pair).sentences


def test_a_constant_that_changed_between_sessions_is_named() -> None:
    reports = [wb.explain(function, (torch.ones(3),)).report for function in (twice, thrice)]
    before = session()
    pair = [Session(before.header, before.tables, {0: report}) for report in reports]
    (change,) = wb.diff(*pair).places
    assert (change.kind, change.text, change.is_gone) == ("graph", "mul: … * 2 → … * 3", False)
