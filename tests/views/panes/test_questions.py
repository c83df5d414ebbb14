"""The five questions: short answers, what is wrong first, and nothing that was not asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.report import Report
from workbench.views.document import document
from workbench.views.overview.answer import LIMIT
from workbench.views.panes.pane import Content, Pane
from workbench.views.panes.questions import QUESTIONS, list_questions
from workbench.views.wire import report_messages as wire

RECORDS = sorted((Path(__file__).parents[2] / "records").glob("*.wbr"))


def ask(name: str) -> dict[str, wire.Question]:
    shown = document(Report.load(RECORDS[0].with_name(f"{name}.wbr")))
    return {question["id"]: question for question in shown["questions"]}


def pane(id: str, question: str, content: Content) -> tuple[Pane, Content]:
    return Pane(id, id.title(), lambda report, context: content, question=question), content


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_each_answer_fits_into_its_tab_and_each_pane_has_one_place(path: Path) -> None:
    shown = document(Report.load(path))
    assert [question["title"] for question in shown["questions"]] == [q.title for q in QUESTIONS]
    assert all(0 < len(question["answer"]) <= LIMIT for question in shown["questions"])
    placed = [id for question in shown["questions"] for id in question["panes"]]
    assert len(placed) == len(set(placed))
    assert set(placed) < {head["id"] for head in shown["panes"]}


def test_what_was_not_asked_is_not_answered() -> None:
    asked = ask("block")
    assert (asked["right"]["answer"], asked["right"]["is_answered"]) == ("not checked", False)
    assert asked["time"]["answer"] == "26.0 MB moved"
    assert asked["breaks"]["answer"] == "no breaks, 77 guards"


@pytest.mark.world("numerics")
def test_a_comparison_with_eager_is_in_the_tab_and_in_the_header() -> None:
    shown = document(Report.load(RECORDS[0].with_name("numerics.wbr")))
    assert (shown["verdict"], shown["tone"]) == ("compiled, agrees with eager", "captured")


def test_a_finding_in_a_kernel_is_never_a_green_header() -> None:
    shown = document(Report.load(RECORDS[0].with_name("program_checks.wbr")))
    assert ask("program_checks")["right"]["tone"] == "break"
    assert (shown["verdict"], shown["tone"]) == ("compiled, 1 finding in kernels", "break")


def test_what_is_wrong_is_said_before_what_is_right() -> None:
    found = [
        pane("values", "right", Content({}, answer=("agrees with eager", "captured"))),
        pane("lines", "right", Content({}, answer=("2 findings in kernels", "break"))),
    ]
    (right,) = (one for one in list_questions(found) if one["id"] == "right")
    assert (right["answer"], right["tone"]) == ("2 findings in kernels", "break")


def test_a_pane_of_an_unknown_question_is_for_experts_and_an_empty_one_is_last() -> None:
    note: wire.Note = {"title": "None.", "text": "Nothing yet.", "tone": "plain"}
    found = [
        pane("stars", "sky", Content({})),
        pane("empty", "fit", Content({}, empty=note)),
        pane("full", "fit", Content({})),
    ]
    panes = {one["id"]: one["panes"] for one in list_questions(found)}
    assert panes["fit"] == ["full", "empty"]
    assert "stars" not in [id for ids in panes.values() for id in ids]
