"""A change is made, run and weighed in one way, whatever advice gave it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.analysis.changes.tried_change import Counts, Ran, TriedChange, Verdict, try_change
from workbench.errors import UsageError

BEFORE = Counts(2, 1)


def run(counts: Counts, agrees: bool | None = True, before: Counts = BEFORE) -> TriedChange:
    return try_change(
        lambda: 0, lambda _: Ran(agrees, "compared", counts), lambda _, tried: tried, before
    )


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        (Counts(1, 0), "cures"),
        (Counts(1, 1), "helps"),
        (Counts(3, 0), "cures"),
        (Counts(2, 1), "no help"),
        (Counts(3, 1), "no help"),
        (Counts(1, 2), "no help"),
    ],
)
def test_fewer_breaks_help_and_then_fewer_graphs(counts: Counts, verdict: Verdict) -> None:
    assert run(counts).verdict == verdict


def test_of_the_calls_of_a_session_recompiles_are_counted() -> None:
    before = Counts(3, 0, 2)
    assert run(Counts(2, 1, 0), before=before).verdict == "cures"
    assert run(Counts(2, 0, 1), before=before).verdict == "helps"
    assert run(Counts(1, 0, 2), before=before).verdict == "no help"


def test_no_count_makes_up_for_another_result() -> None:
    assert run(Counts(1, 0), agrees=False).verdict == "refused"
    assert run(Counts(1, 0), agrees=None).verdict == "not checked"


def test_what_cannot_be_made_was_not_checked_and_what_raises_is_refused() -> None:
    def fail(*_: object) -> Ran:
        raise UsageError("The line is gone.")

    not_made = try_change(fail, fail, lambda _, tried: tried, BEFORE, "a diff")
    assert (not_made.verdict, not_made.checked) == ("not checked", "Not applied: The line is gone.")
    raised = try_change(lambda: 0, fail, lambda _, tried: tried, BEFORE, "a diff")
    assert raised.verdict == "refused"
    assert raised.checked.startswith("It raises")
    assert (raised.after, raised.patch, raised.sentence) == (None, "a diff", raised.checked)


def test_what_is_known_of_a_copy_that_ran_is_heard_last() -> None:
    tried = try_change(
        lambda: "a copy",
        lambda made: Ran(True, made, Counts(1, 0)),
        lambda made, seen: replace(seen, verdict="no help", checked=f"{made} of nothing"),
        BEFORE,
    )
    assert (tried.verdict, tried.checked) == ("no help", "a copy of nothing")
