"""A log as a session: what it tells of compiles, recompiles, breaks and frames given up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from workbench.errors import UsageError
from workbench.worlds.logs.reading.log_report import Trace
from workbench.worlds.sessions.views.session_document import document

Log = Callable[[str], Path]


def test_a_log_says_what_was_compiled_again_and_why(log: Log) -> None:
    session = wb.read_trace(log("recompiles")).session()
    assert repr(session) == "Session(8 compiles, 4 recompiles, 2 breaks, 1 fallback, 0 steps)"
    compiles = session.frame("compiles").set_index("id")
    assert compiles.kind["1/0"] == "resume"
    assert compiles.kind["0/1"] == "recompile"
    assert compiles.why["3/1"] == "factor == 0.5"
    assert compiles.total_s["0/0"] == pytest.approx(61.0, abs=0.01)
    assert list(compiles.ops["0/0":"0/1"]) == [3, 3, 3]
    again = session.frame("recompiles")
    assert list(again[again.nearest].kind) == ["size", "size", "value", "type"]
    assert list(again[~again.nearest].against) == ["3/0"]
    fallback = session.frame("fallbacks").iloc[0]
    assert (fallback.function, fallback.how) == ("looping", "always")
    cut = session.frame("breaks").set_index("text").cost_s
    assert cut['print("scored")'] == pytest.approx(5.63 + 6.62, abs=0.01)
    told = " ".join(session.advice)
    assert "scores recompiled 1 time" in told
    assert "The part of scores after its graph break recompiled 1 time" in told
    differs = wb.diff(session, session).frame().set_index("what").a
    assert differs["compiling"] == pytest.approx(compiles.total_s.sum())
    assert differs.isna()["steps"]


def test_an_error_of_the_program_is_no_fallback(log: Log) -> None:
    session = wb.read_trace(log("failed")).session()
    assert list(session.frame("compiles").outcome) == ["error", "error", "graph"]
    assert len(session.frame("fallbacks")) == 0


def test_several_logs_name_their_compiles_and_backwards_follow_their_forwards(log: Log) -> None:
    session = wb.read_trace(log("ranks")).session()
    compiles = session.frame("compiles")
    assert list(compiles.id) == ["rank 0: 0/0"] * 2 + ["rank 1: 0/0"] * 2
    assert list(compiles.kind) == ["first", "backward"] * 2
    assert set(compiles.function) == {"forward"}
    assert session.header.threads == ("rank 0", "rank 1")


def test_its_view_says_what_a_log_does_not_tell(log: Log) -> None:
    shown = document(wb.read_trace(log("recompiles")).session())
    assert shown["bars"] == shown["can_open"] == []
    assert shown["notes"][0].startswith("Not recorded: steps (a log")
    assert len(shown["tables"][0]["rows"]) == 8


def test_a_copy_without_its_log_says_so() -> None:
    with pytest.raises(UsageError, match=r"wb\.read_trace"):
        Trace().session()
