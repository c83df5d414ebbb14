"""Messages that no front end of ours sends: one answer each, in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.views.diff.test_diff_views import diff
from workbench.report import Report
from workbench.views.diff.diff_view import DiffView
from workbench.views.kit.request_widget import RequestWidget
from workbench.views.widgets.report_view import View

VIEWS: dict[str, Callable[[Report], RequestWidget]] = {
    "report": lambda report: View(
        report,
        check_guards=lambda question: {"ok": True, "failed": None, "guard": None, "checked": 0},
    ),
    "unfinished": lambda report: View(),
}
ASKS = (
    *("guard-check", "retarget", "compare-targets", "row", "compare-rows", "try", "budget", "cure"),
    *("save", "check"),
    *("tried:x", "asm:", "compare:", "changes:", "table:", "graph:", "page-", "x:y:z"),
)
WRONG: tuple[Any, ...] = (
    *(5, "x", [], {}, [{}], {"row": 5}, {"row": "compile:x", "part": "document"}, {"part": "x"}),
    *({"rows": [1, 2]}, {"rows": "ab"}, {"rows": []}, {"inputs": 5}, {"inputs": [5]}),
    *({"inputs": [{}]}, {"targets": 5}, {"targets": [5]}, {"opportunity": []}, {"budget": "x"}),
    *({"path": 5}, {"machine": [5]}),
    *({"id": 5, "cure": "x"}, {"id": "b0"}, {"row": "compile:99", "part": []}),
)


@pytest.mark.parametrize("name", VIEWS)
def test_each_message_has_one_answer_in_a_sentence(name: str, sample_report: Report) -> None:
    refuse_each_message(VIEWS[name](sample_report))


def refuse_each_message(view: RequestWidget) -> None:
    """Send it each message; each must have one answer, which is an error in a sentence."""
    sent: list[Any] = []
    view.send = lambda content, buffers=None: sent.append(content)
    messages: list[Any] = [None, 5, "x", b"", [], {}, {"id": 1}, {"ask": 5}, {"ask": ["row"]}]
    messages += [{"id": 1, "ask": ask} for ask in ASKS]
    messages += [{"id": 1, "ask": ask, "question": wrong} for ask in ASKS for wrong in WRONG]
    for message in messages:
        view._on_message(view, message, [])
        (answer,) = sent
        sent.clear()
        assert answer["error"], message
        assert "failed: " not in answer["error"], message


def test_a_difference_answers_too() -> None:
    view = DiffView(diff("h100", "apart"))
    sent: list[Any] = []
    view.send = lambda content, buffers=None: sent.append(content)
    view._on_message(view, [], [])
    assert sent[0]["error"] == "A message is a list: expected an object with `ask`."
