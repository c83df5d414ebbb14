from __future__ import annotations

import pytest

from tests.worlds.sessions.rows.sample import session
from workbench.errors import ExpectationError, UsageError


def test_it_says_how_much_was_compiled_again_and_given_up() -> None:
    assert repr(session()) == "Session(3 compiles, 1 recompile, 1 break, 1 fallback, 6 steps)"


def test_a_report_is_found_by_row_and_by_id() -> None:
    made = session()
    assert made.report(0) is made.report("0/0")
    with pytest.raises(UsageError, match=r"Compile 1/0 \(Net.forward\) has no report"):
        made.report("1/0")


def test_a_check_raises_with_the_sentences() -> None:
    session().check(recompiles=2, fallbacks=1, breaks=1)
    with pytest.raises(ExpectationError) as caught:
        session().check(recompiles=0, fallbacks=0, breaks=1)
    text = str(caught.value)
    assert "1 recompile (limit 0); 1 fallback (limit 0)" in text
    assert "mark_dynamic" in text
    assert isinstance(caught.value, AssertionError)
    with pytest.raises(UsageError, match="recompiles is '0': expected a whole number"):
        session().check(recompiles="0")  # type: ignore[arg-type]
