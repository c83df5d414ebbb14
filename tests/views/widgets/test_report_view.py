from __future__ import annotations

import base64
from typing import Any

import pytest
from ipywidgets.embed import dependency_state
from view_mail import Mailbox
from wire_types import mismatches

from tests.diffs import diff
from workbench.report import Report
from workbench.views.document import ViewContext
from workbench.views.kit.job_queue import IDLE
from workbench.views.widgets.report_view import View
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import read_bundle_bytes


@pytest.fixture
def mail(sample_report: Report) -> Mailbox:
    return Mailbox(View(sample_report, ViewContext("fast")))


def test_the_document_comes_packed(mail: Mailbox) -> None:
    answer, made = mail.ask("document")
    assert answer["error"] is None
    assert mismatches(made, wire.Document) == []
    assert made["variable"] == "fast"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("graph:g0", wire.GraphPart),
        ("code:k0", wire.CodePart),
        ("wrapper:w0", wire.WrapperPart),
        ("table:fusion", wire.TablePart),
        ("changes:g0:g1", wire.ChangesPart),
        ("page", wire.SavedPage),
    ],
)
def test_every_part_has_its_form(mail: Mailbox, name: str, kind: Any) -> None:
    answer, part = mail.ask(name)
    assert answer["error"] is None
    assert mismatches(part, kind) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("graph:g99", "Unknown graph 'g99'"),
        ("code:k1", "k1 has no source: aten.topk is a library call."),
        ("code:k9", "Unknown kernel 'k9'; the report has k0 to k2."),
        ("wrapper:w9", "Unknown wrapper 'w9'; the report has w0."),
        ("table:pie", "Unknown table 'pie'."),
        ("pie", "Unknown part 'pie'. The parts are graph:ID"),
        ("cancel", "Interrupt the kernel"),
        ("guard-check", "no live guards"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(mail: Mailbox, name: str, words: str) -> None:
    answer, part = mail.ask(name)
    assert words in (answer["error"] or "")
    assert part is None


def test_an_error_of_ours_is_answered_too(mail: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("workbench.views.widgets.report_view.report_part", fail)
    with pytest.raises(ZeroDivisionError):
        mail.view._on_message(mail.view, {"id": 1, "ask": "code:k0"}, [])
    ((answer, _),) = mail.sent
    assert answer["error"] == ("The request 'code:k0' failed: ZeroDivisionError: oh.")


def test_guards_are_tried_by_those_who_hold_them(sample_report: Report) -> None:
    asked: list[Any] = []

    def check(question: wire.GuardQuestion) -> wire.GuardCheck:
        asked.append(question)
        return {"ok": False, "failed": "size", "guard": "q0", "checked": 3}

    mail = Mailbox(View(sample_report, check_guards=check))
    assert "needs inputs" in (mail.ask("guard-check")[0]["error"] or "")
    _, found = mail.ask("guard-check", question={"inputs": []})
    assert mismatches(found, wire.GuardCheck) == []
    assert asked == [{"inputs": []}]


def test_cancel_reaches_who_can(sample_report: Report) -> None:
    called: list[str] = []
    mail = Mailbox(View(cancel=lambda: called.append("cancel")))
    assert mail.ask("cancel")[0]["error"] is None
    assert called == ["cancel"]


def test_a_view_without_a_report_waits_for_one(sample_report: Report) -> None:
    view = View()
    mail = Mailbox(view)
    assert mail.ask("document") == ({"id": 7, "ask": "document", "error": None}, None)
    assert "until the compilation ends" in (mail.ask("code:k0")[0]["error"] or "")
    view.present(sample_report, ViewContext())
    assert view.revision == 1
    assert mail.ask("document")[1]["name"] == "block"


def test_the_traits_are_the_state_of_the_wire(sample_report: Report) -> None:
    view = View(sample_report)
    names = wire.State.__annotations__
    state = {name: getattr(view, name) for name in names}
    assert mismatches(state, wire.State) == []
    assert all(view.trait_metadata(name, "sync") for name in names)
    view.follow({**IDLE, "status": "running", "title": "Dynamo"})
    assert view.progress["title"] == "Dynamo"


def test_its_text_is_the_same_in_every_run(sample_report: Report) -> None:
    assert repr(View(sample_report)) == "Workbench view of block"
    assert repr(View()) == "Workbench view of a compilation"


def test_ten_views_hold_the_front_end_once(sample_report: Report) -> None:
    views = [*(View(sample_report) for _ in range(8)), diff("h100", "apart").view()]
    state = dependency_state(views)
    held = [
        b for model in state.values() for b in model.get("buffers", ()) if b["path"] == ["packed"]
    ]
    assert len(held) == 1
    assert len(base64.b64decode(held[0]["data"])) == len(read_bundle_bytes())
    others = {id: model["state"] for id, model in state.items() if "packed" not in model["state"]}
    assert all(len(model["_esm"]) < 4_000 for model in others.values() if "_esm" in model)
    assert len({view.front_end.model_id for view in views}) == 1


def test_a_host_without_models_asks_for_the_front_end(sample_report: Report) -> None:
    answer, made = Mailbox(View(sample_report)).ask("front-end")
    assert answer["error"] is None
    assert set(made) == {"js", "css"}


def test_a_front_end_that_was_closed_is_opened_again(sample_report: Report) -> None:
    View(sample_report).front_end.close()
    assert View(sample_report).front_end.comm is not None
