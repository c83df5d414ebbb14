from __future__ import annotations

from pathlib import Path

import pytest

from workbench.compiler.rows.dynamo_rows import (
    BreakTable,
    SeenGuard,
    list_guards,
    list_recompiles,
    name_function,
    read_break,
    read_cache_event,
)
from workbench.compiler.sources.sources import Frame, Places
from workbench.report import CacheEvent, Recompile
from workbench.report.rows import LOOP_HINT

SOURCE = """\
class Block:
    def forward(self, x):
        print("here")
        return x
"""
MESSAGE = """\
Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace `print`.
  Hint: Use the logger of torch.
"""
IN_LOOP = """
*** While handling this graph break, another graph break occurred: ***
graph break in loop
"""


def test_a_break_that_is_met_again_is_counted_and_named_by_its_class(tmp_path: Path) -> None:
    file = tmp_path / "block.py"
    file.write_text(SOURCE)
    table, frame = BreakTable(), Frame(str(file), 3, "forward")
    for _ in range(2):
        table.add(Places(), frame, 'print("here")', read_break(MESSAGE)[0], str.upper)
    (row,) = table.rows()
    assert (row.id, row.function, row.line, row.count) == ("b0", "Block.forward", 3, 2)
    assert row.reason == "FAILED TO TRACE BUILTIN OPERATOR"
    other = BreakTable()
    other.add(Places(), frame, "", read_break(MESSAGE)[0])
    other.add(Places(), Frame(str(file), 4, "forward"), "", read_break(MESSAGE)[0])
    assert table.merge(other) == [Frame(str(file), 4, "forward")]
    assert [(row.id, row.line, row.count) for row in table.rows()] == [("b0", 3, 2), ("b1", 4, 1)]


def test_a_break_in_a_loop_gives_the_function_up() -> None:
    assert read_break(MESSAGE)[1] is False
    parts, is_given_up = read_break(MESSAGE + IN_LOOP)
    assert is_given_up
    assert parts.hints[-1] == LOOP_HINT


def test_what_resumes_has_the_name_of_its_function() -> None:
    frame = Frame("missing.py", 3, "torch_dynamo_resume_in_forward_at_3")
    assert name_function(Places(), frame) == "forward"


def test_reasons_of_a_recompilation_are_the_guards_alone() -> None:
    payload = '["0/1: factor == 2.0  # return x * factor  # scaled.py:3 in scaled"]'
    rows = list(list_recompiles(payload, "0/2", "scaled", str))
    assert rows == [Recompile("0/2", "scaled", "0/1: factor == 2.0")]


def test_a_cache_says_why_it_was_bypassed() -> None:
    found = read_cache_event("fx_graph_cache_bypass", {"cache_bypass_reason": "a reason"})
    assert found == CacheEvent("FX graph cache", "bypass", None, "a reason")
    found = read_cache_event("aotautograd_cache_hit", {"cache_key": "abc"})
    assert found == CacheEvent("AOTAutograd cache", "hit", "abc", None)


def test_a_guard_is_kept_where_nothing_says_why_not() -> None:
    kept, dropped = list_guards(
        [
            SeenGuard("TENSOR_MATCH", "L['x']", ("check_tensor(L['x'])",), "model.py", 3),
            SeenGuard("CONSTANT_MATCH", "G['n']", ("G['n'] == 2",), None, None, "a global", "2"),
        ]
    )
    assert (kept.id, kept.kept, kept.file, kept.line) == ("q0", True, "model.py", 3)
    assert (dropped.id, dropped.kept, dropped.frozen) == ("q1", False, "2")
    assert (kept.why_dropped, dropped.why_dropped) == (None, "a global")


def test_checks_are_told_once_and_without_addresses() -> None:
    check = "___check_obj_id(G['f'], 140630660042288)"
    (row,) = list_guards([SeenGuard("ID_MATCH", "G['f']", (check, check))])
    assert row.code == ("___check_obj_id(G['f'], <id>)",)


@pytest.mark.parametrize(
    ("source", "is_global"),
    [
        ("", False),  # a state, as that of autocast
        ("G", True),
        ("G['n']", True),
        ("type(G['f']).__call__.__code__", True),
        ("G['table'][L['key']]", True),
        ("L['x']", False),
        ("L['names']['G[0]']", False),
        ("list(dict.keys(L['d']))[0]", False),
    ],
)
def test_what_leads_from_a_global_is_global(source: str, is_global: bool) -> None:
    (row,) = list_guards([SeenGuard("ID_MATCH", source)])
    assert row.is_global is is_global
