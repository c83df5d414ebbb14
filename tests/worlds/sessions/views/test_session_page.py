from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.worlds.sessions.rows.sample import session
from workbench.errors import UsageError
from workbench.report.program.record_rows import Event
from workbench.worlds.sessions.rows.session_record import Session, make_empty_tables
from workbench.worlds.sessions.rows.session_rows import Step
from workbench.worlds.sessions.views.session_answer import bars
from workbench.worlds.sessions.views.session_document import document
from workbench.worlds.sessions.views.session_page import notes
from workbench.worlds.sessions.views.session_timeline import timeline


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace("&#39;", "'")


def test_a_page_has_the_advice_the_slow_steps_and_every_table() -> None:
    text = words(session().to_html())
    for part in (
        "What to change",
        "scaled runs eagerly since step 4",
        "Step 0 took 2.51 s",
        "Recompiles",
        "Graph breaks",
        "Runs eagerly",
        "Calls of compiled graphs",
        "train.py:14",
    ):
        assert part in text


def test_a_page_without_sources_has_no_line_of_code() -> None:
    assert "print(y)" in session().to_html()
    html = words(session().to_html(redact=True))
    assert "Net.forward" in html
    assert "train.py:14" in html
    for dropped in ("print(y)", "expected 4", "x.stride()[0] == 8", "limit exceeded", "was 6"):
        assert dropped not in html


def test_a_notebook_keeps_a_summary_without_a_picture() -> None:
    html = session()._repr_html_()
    assert html is not None
    assert "<svg" not in html
    assert "Net.forward recompiled 1 time" in words(html)


def test_a_page_says_first_that_nothing_was_compiled() -> None:
    empty = Session(session().header, make_empty_tables(), {})
    for html in (empty.to_html(), empty._repr_html_() or ""):
        text = words(html)
        assert text.index("Session(nothing compiled, 0 compiles") < text.index("recorded")
        assert "Nothing was compiled, and no compiled graph was called" in text
    assert document(empty)["advice"][0].startswith("Nothing was compiled")
    assert document(empty)["title"].startswith("nothing compiled, ")


def test_a_frame_has_the_columns_of_its_rows() -> None:
    frame = session().frame("fallbacks")
    assert list(frame.eager_calls) == [7]
    with pytest.raises(UsageError, match="It has: compiles, recompiles"):
        session().frame("graphs")


def test_steps_that_never_came_are_said() -> None:
    made = session()
    assert notes(made) == []
    never = Session(replace(made.header, steps=1), made.tables, {})
    assert "s.step()" in notes(never)[0]
    unseen = Session(
        replace(made.header, missing=(("regions", "this torch has none"),)), {**made.tables}, {}
    )
    assert notes(unseen) == ["Not recorded: regions (this torch has none)."]
    with pytest.raises(UsageError, match="no step has ended"):
        Session(made.header, make_empty_tables(), {}).plot()


def test_a_bar_says_what_its_steps_went_into_on_a_scale_for_both() -> None:
    drawn = timeline(session())
    assert drawn is not None
    assert [bar.words for bar in drawn.bars][:2] == [
        "step 0: 2.50 s compiling, 4.00 ms in compiled graphs, 6.00 ms outside graphs; "
        "compile, break",
        "step 1: 0 s compiling, 4.00 ms in compiled graphs, 6.00 ms outside graphs",
    ]
    assert drawn.bars[2].marks == "↻"
    heights = [sum(part.height for part in bar.parts) for bar in drawn.bars]
    assert heights[0] == pytest.approx(drawn.height)
    assert heights[1] > drawn.height / 5  # a step of 10 ms is seen beside one of 2.5 s
    assert drawn.ticks[0][1] == "1.00 ms"


def test_ten_thousand_steps_share_bars_and_events_keep_their_own() -> None:
    steps = [Step(n, n * 0.01, 10.0, 1.0 * (n == 500), 1, 4.0, 6.0, 0) for n in range(10_000)]
    found = bars(steps, [Event(700, 7.0, "fallback", "0/8", "f", "limit")])
    assert len(found) <= 240
    assert next(bar for bar in found if bar.compile_ms).first == 500
    assert next(bar for bar in found if bar.kinds).kinds == ("fallback",)
    assert sum(bar.last - bar.first + 1 for bar in found) == 10_000


def test_many_steps_that_compile_share_bars_too() -> None:
    steps = [Step(n, n * 0.01, 10.0, 0.1 * (n % 4 == 0), 1, 4.0, 6.0, 1) for n in range(2_000)]
    events = [Event(n, n * 0.01, "recompile", f"0/{n}", "f", "size") for n in range(0, 2_000, 4)]
    found = bars(steps, events)
    assert len(found) <= 240
    assert all(bar.kinds == ("recompile",) for bar in found[:-1])
    assert sum(bar.last - bar.first + 1 for bar in found) == 2_000
