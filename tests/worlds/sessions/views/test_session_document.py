"""The document of a session, and the widget that shows it: while it records, and opened rows."""

from __future__ import annotations

import gzip
import json
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from view_mail import Mailbox
from wire_types import mismatches

from tests.worlds.sessions.rows.sample import session
from workbench.report.program.record_rows import Compile, Event
from workbench.report.table import Table
from workbench.tasks.background_task import BackgroundTask
from workbench.views.static_html.render import keep
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import pack
from workbench.views.wire.table_messages import TableRows
from workbench.worlds.sessions.findings.advice import advice
from workbench.worlds.sessions.rows.session_record import Session, make_empty_tables
from workbench.worlds.sessions.rows.session_rows import Step
from workbench.worlds.sessions.views.messages import SessionDocument
from workbench.worlds.sessions.views.session_document import MOST_LIVE, MOST_ROWS, document
from workbench.worlds.sessions.views.session_page import build_blocks
from workbench.worlds.sessions.views.session_view import Following, SessionView


def table(shown: SessionDocument, name: str) -> TableRows:
    return next(each for each in shown["tables"] if each["id"] == name)


def test_a_bar_says_why_its_step_was_slow_and_which_rows_belong_to_it() -> None:
    shown = document(session())
    assert mismatches(shown, SessionDocument) == []
    assert (shown["status"], shown["title"]) == (
        "done",
        "3 compiles, 1 recompile, 1 break, 1 fallback, 6 steps",
    )
    slow = shown["bars"][2]
    assert (slow["first"], slow["last"], slow["marks"]) == (2, 2, "↻")
    assert slow["why"].startswith("Step 2 took 1.51 s, 1.50 s of it compiling: Net.forward")
    assert slow["rows"] == ["compiles:2", "recompiles:0", "steps:2"]  # the nearest variant only
    assert shown["bars"][1]["why"] == ""
    compiles = table(shown, "compiles")  # torch refused the fourth, at its limit
    assert (compiles["title"], len(compiles["rows"])) == ("Compiles, 1 refused", 4)
    assert sum(shown["bars"][0]["heights"]) == pytest.approx(1, abs=1e-3)
    assert shown["scale"][-1][1] == "1.00 s"


def test_a_region_says_in_which_step_and_why_it_was_compiled() -> None:
    own = session()
    again = replace(own.tables["regions"][0], compile_id="0/1", calls=4)
    regions = Table.of(type(again), [*own.tables["regions"], again])
    shown = document(Session(own.header, {**own.tables, "regions": regions}, {}))
    why = [(row["compile_id"], row["step"], row["why"]) for row in table(shown, "regions")["rows"]]
    assert why == [
        ("0/0", 0, ""),
        ("", None, "compiled before the session"),
        ("0/1", 2, "tensor 'x' size mismatch at index 0. expected 4, actual 6"),
    ]


def test_a_column_without_values_is_left_out_and_texts_say_what_is_missing() -> None:
    shown = document(Session(session().header, make_empty_tables(), {}), "running")
    assert shown["bars"] == shown["scale"] == shown["can_open"] == []
    assert table(shown, "breaks")["none"] == "No graph breaks."
    assert shown["notes"] == []  # steps may still come
    keys = [column["key"] for column in table(document(session()), "compiles")["columns"]]
    assert "cache" not in keys


def test_ten_thousand_steps_keep_the_costliest_rows_and_stay_small() -> None:
    own = session()
    steps = [Step(n, n * 0.01, 10.0 + n, 0.0, 1, 4.0, 6.0, 0) for n in range(10_000)]
    row = own.tables["compiles"][0]
    compiles = [replace(row, id=f"{n}/0", step=n) for n in range(500)]
    events = [Event(n, 0.0, "compile", f"{n}/0", "f", "first", 1.0) for n in range(500)]
    tables = {
        **own.tables,
        "steps": Table.of(Step, steps),
        "compiles": Table.of(Compile, compiles),
        "events": Table.of(Event, events),
    }
    for status, most in (("done", MOST_ROWS), ("running", MOST_LIVE)):
        shown = document(Session(own.header, tables, {}), status)  # type: ignore[arg-type]
        kept = table(shown, "steps")
        assert (len(kept["rows"]), kept["more"]) == (most, 10_000 - most)
        assert kept["rows"][0]["step"] == 10_000 - most
        assert len(shown["bars"]) <= 240
        assert len(pack(shown)) < 60_000


@pytest.fixture
def mail() -> Mailbox:
    return Mailbox(SessionView(session(), variable="run"))


def test_the_report_of_a_compile_opens_in_place(mail: Mailbox) -> None:
    assert document(session())["can_open"] == ["compiles:0"]
    answer, made = mail.ask("row", question={"row": "compiles:0", "part": "document"})
    assert answer["error"] is None
    assert mismatches(made, wire.Document) == []
    assert made["variable"] == "run.report(0)"
    part = made["graphs"][0]["part"]
    _, graph = mail.ask("row", question={"row": "compiles:0", "part": part})
    assert mismatches(graph, wire.GraphPart) == []


def test_what_cannot_be_opened_says_why(mail: Mailbox) -> None:
    answer, _ = mail.ask("row", question={"row": "compiles:3", "part": "document"})
    assert answer["error"].startswith("Compile 3 (scaled) has no report")
    answer, _ = mail.ask("page")
    assert answer["error"] == "A session has no part 'page': it has row, try-patch and cancel."


class Recording(Session):
    """A session whose steps come when the test says so."""

    def __init__(self) -> None:
        super().__init__(session().header, session().tables, {})
        self.is_going, self.asked = True, threading.Event()

    @property
    def is_running(self) -> bool:
        return self.is_going

    def so_far(self) -> Session:
        self.asked.set()
        return self


def shown_by(view: SessionView) -> Any:
    return json.loads(gzip.decompress(view.session))


def test_a_view_follows_a_session_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.worlds.sessions.views.session_view._EVERY_S", 0.01)
    recording, called = Recording(), []
    view = SessionView(Session(session().header, make_empty_tables(), {}), "running")
    assert shown_by(view)["bars"] == []
    following = Following(recording, view, lambda call: called.append(call()))
    assert recording.asked.wait(30)
    recording.is_going = False
    following.end()
    assert (shown_by(view)["status"], len(shown_by(view)["bars"])) == ("done", 6)
    assert len(called) >= 2
    assert "session view" not in [thread.name for thread in threading.enumerate()]


def test_a_saved_output_is_the_summary_with_the_record_beside_it() -> None:
    plain = keep(build_blocks(session()), embed="none", carries_bundle=False)
    assert "wb-record" not in plain
    rich = keep(build_blocks(session()), embed="full", carries_bundle=False)
    assert "wb-record" in rich
    assert "Net.forward recompiled 1 time" in rich


class Patched(Session):
    """A session whose program is here: a patch is tried until the test lets it end."""

    why_no_trial = None

    def __init__(self) -> None:
        own = session()
        first = own.tables["recompiles"][0]
        # two causes, each with a patch
        rows = [
            replace(first, called_by=("net.py", 3, "net(x)"), called_as=("x=x",)),
            replace(
                first,
                guard="L['k'] == 3",
                kind="value",
                source="k",
                expected="3",
                actual="4",
                called_by=("net.py", 9, "net(x, k)"),
                called_as=("k=k",),
            ),
        ]
        tables = {**own.tables, "recompiles": Table.of(type(first), rows)}
        super().__init__(own.header, tables, {})
        self.go, self.begun = threading.Event(), list[str]()

    def start_patch(self, id: str) -> Any:
        self.begun.append(id)

        def work(steps: Any) -> Any:
            steps("replaying 2 calls unchanged", 0.0)
            self.go.wait(30)
            if len(self.begun) == 1:
                raise RuntimeError("the calls are gone")
            return SimpleNamespace(sentence="2 → 0 recompiles.", verdict="cures", patch="- a\n+ b")

        return BackgroundTask("a patch", work, lambda thread: self.go.set())


def test_patches_wait_for_their_turn_and_what_fails_says_so() -> None:
    found = Patched()
    mail = Mailbox(SessionView(found, variable="run"))
    patches = [each.id for one in advice(found) for each in one.patches][:2]
    asked = [mail.ask("try-patch", question={"id": id})[0]["error"] for id in patches]
    assert asked == [None, None]
    assert found.begun == patches[:1]
    again = mail.ask("try-patch", question={"id": patches[1]})[0]["error"]
    assert again.endswith("is already in progress.")
    jobs = mail.view.progress["jobs"]
    assert [job["question"]["id"] for job in jobs] == patches
    assert jobs[0]["words"].startswith("Trying the change “")
    found.go.set()
    mail.view.jobs.join(30)
    assert found.begun == patches
    shown = shown_by(mail.view)["changes"]
    tried = {each["id"]: each["outcome"] for one in shown for each in one["patches"]}
    assert tried[patches[0]] is None
    assert tried[patches[1]] == {
        "words": "2 → 0 recompiles.",
        "tone": "captured",
        "patch": "- a\n+ b",
    }
    (failed,) = mail.view.progress["failed"]
    assert failed["words"].endswith("the calls are gone")


def test_a_patch_that_waits_can_be_taken_back() -> None:
    found = Patched()
    mail = Mailbox(SessionView(found, variable="run"))
    patches = [each.id for one in advice(found) for each in one.patches][:2]
    for id in patches:
        mail.ask("try-patch", question={"id": id})
    mail.ask("cancel", question={"job": mail.view.progress["jobs"][1]["id"]})
    assert len(mail.view.progress["jobs"]) == 1
    mail.ask("cancel")
    mail.view.jobs.join(30)
    assert (mail.view.progress["status"], found.begun) == ("cancelled", patches[:1])
    answer, _ = mail.ask("try-patch", question={"id": "gone"})
    assert answer["error"] == "This session has no patch 'gone'."
