"""How the checks of two records differ."""

from __future__ import annotations

from typing import Any

from tests.diffs import diff, rows
from workbench.analysis.diff.difference import counted
from workbench.analysis.diff.report_comparison import (
    compare_breaks,
    compare_guards,
    recompile_changes,
)
from workbench.report import Break, Guard, Recompile, Report, Table


def report(*items: Any) -> Report:
    name = {Break: "breaks", Guard: "guards", Recompile: "recompiles"}[type(items[0])]
    return Report(tables={name: Table.of(type(items[0]), items)})


def found_break(line: int, text: str, **more: Any) -> Break:
    return Break(
        "b0", "~/m.py", line, "f", text, "Data-dependent branching", "GB0170", "why", "", **more
    )


def test_a_break_on_a_line_that_was_moved_is_the_same() -> None:
    a, b = report(found_break(14, "if x.sum() > 0:")), report(found_break(20, " if x.sum() > 0:"))
    assert counted(compare_breaks(a, b)) == ([], 1)


def test_breaks_come_and_go() -> None:
    a, b = report(found_break(14, "if x:")), report(found_break(14, "print(x)", count=3))
    changes, same = counted(compare_breaks(a, b))
    assert [(c.change, c.item) for c in changes] == [("removed", "if x:"), ("added", "print(x)")]
    assert changes[1].b == "~/m.py:14 Data-dependent branching, 3 times"
    assert same == 0


def guard(kept: bool, source: str, *code: str, why: str | None = None) -> Guard:
    return Guard("q0", kept, "EQUALS_MATCH", source, code, why)


def test_only_the_conditions_that_differ_are_shown() -> None:
    a = report(guard(True, "L['n']", "L['n'] == 3", "type(L['n']) is int"))
    b = report(guard(True, "L['n']", "L['n'] == 4", "type(L['n']) is int"))
    (change,), same = counted(compare_guards(a, b))
    assert (change.change, change.a, change.b) == ("changed", "L['n'] == 3", "L['n'] == 4")
    assert same == 0


def test_a_guard_that_is_kept_now_was_dropped_for_a_reason() -> None:
    a, b = report(guard(False, "L['n']", why="no meaning here")), report(guard(True, "L['n']"))
    (change,), _ = counted(compare_guards(a, b))
    assert (change.change, change.a, change.b) == ("kept", "dropped", "kept")
    assert change.note == "no meaning here"


def test_numbers_of_dynamos_own_globals_do_not_count() -> None:
    a = report(guard(True, "G['__builtins_dict___0']['len']", "G['__builtins_dict___0'] is it"))
    b = report(guard(True, "G['__builtins_dict___4']['len']", "G['__builtins_dict___4'] is it"))
    assert counted(compare_guards(a, b)) == ([], 1)


def test_numbers_that_a_process_gives_to_hooks_do_not_count() -> None:
    code = "not ___dict_contains({}, G['module']._global_forward_hooks_with_kwargs)"
    a, b = (report(guard(False, "G['module']", code.format(n))) for n in (1, 15))
    assert counted(compare_guards(a, b)) == ([], 1)


def test_several_guards_of_one_source_are_compared_one_by_one() -> None:
    one = guard(True, "L['x']", "a")
    (change,), same = counted(compare_guards(report(one, one), report(one)))
    assert (change.change, same) == ("removed", 1)


def test_guards_without_a_source_are_told_apart_by_their_conditions() -> None:
    hooks, first, second = (guard(True, "", code) for code in ("hooks is None", "2 <= n", "2 <= m"))
    changes, same = counted(
        compare_guards(report(hooks, first), report(hooks, hooks, first, second))
    )
    assert [(c.change, c.b) for c in changes] == [("added", "hooks is None"), ("added", "2 <= m")]
    assert same == 2


def test_recompilations_come_and_go_by_their_reason() -> None:
    a = report(Recompile("0/1", "f", "size of x"))
    b = report(Recompile("3/1", "f", "size of x"), Recompile("3/2", "f", "dtype of x"))
    changes, same = counted(recompile_changes(a, b))
    assert [(c.change, c.b) for c in changes] == [("added", "dtype of x")]
    assert same == 1


def test_dynamic_sizes_bring_bounds() -> None:
    changes = {c.item: c for c in rows(diff("static", "dynamic"), "guards")}
    assert set(changes) == {"TENSOR_MATCH L['x']", "SHAPE_ENV"}
    assert "2 <= L['x'].size()[0] and L['x'].size()[0] <= 64" in str(changes["SHAPE_ENV"].b)
