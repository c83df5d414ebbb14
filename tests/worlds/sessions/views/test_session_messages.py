"""Every message to the view of a session is answered, and its columns have words."""

from __future__ import annotations

from tests.views.widgets.test_messages import refuse_each_message
from tests.worlds.sessions.rows.sample import session
from workbench.glossary import find_term
from workbench.worlds.sessions.views.session_lists import tables
from workbench.worlds.sessions.views.session_view import SessionView


def test_each_message_has_one_answer_in_a_sentence() -> None:
    refuse_each_message(SessionView(session()))


def test_every_column_of_every_table_has_a_word() -> None:
    heads = [(table.name, column.title) for table in tables(session()) for column in table.columns]
    assert [head for head in heads if find_term(*head) is None] == []
