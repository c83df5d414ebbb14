"""The live view of a sweep: what it shows while it runs, rows opened and compared, Cancel."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from view_mail import Mailbox
from wire_types import mismatches

from tests.diffs import RECORDS
from tests.views.widgets.test_messages import refuse_each_message
from tests.worlds.sweeps.views.test_sweep_views import sweep
from workbench.report.trials import Trial
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import SMALL, pack
from workbench.views.wire.diff_messages import DiffDocument
from workbench.worlds.sweeps.sweep import Sweep
from workbench.worlds.sweeps.views.messages import SweepDocument
from workbench.worlds.sweeps.views.sweep_document import MOST_ROWS, Live, document
from workbench.worlds.sweeps.views.sweep_view import SweepView

GRID = tuple(trial.settings for trial in sweep().trials)


def recorded() -> Sweep:
    """Two rows whose records are there."""
    names = {"static": "False", "dynamic": "True"}
    rows = [
        replace(sweep().trials[0], key=name, settings=(("dynamic", value),), report=name)
        for name, value in names.items()
    ]
    gone = Trial("gone", (("dynamic", "maybe"),), status="crashed", reason="its process was ended")
    return Sweep(
        "f",
        {"dynamic": ("False", "True", "maybe")},
        (),
        (*rows, gone),
        read=lambda trial: (RECORDS / f"{trial.report}.wbr").read_bytes() if trial.report else None,
    )


def test_what_is_done_runs_and_waits_stands_in_one_table() -> None:
    begun = replace(sweep(), trials=sweep().trials[:4], seconds=40.0, from_store=1)
    shown = document(begun, Live(planned=GRID, tried=GRID[4:6], known={begun.trials[0].title}))
    assert mismatches(shown, SweepDocument) == []
    assert [row["status"] for row in shown["rows"]] == [
        *("done", "done", "done", "crashed", "running", "running"),
        *["waiting"] * 6,
    ]
    assert shown["rows"][3]["remark"] == "crashed: its process was ended"
    assert [row["from_store"] for row in shown["rows"][:2]] == [True, False]
    assert (shown["status"], shown["total"], shown["sentence"]) == ("running", 12, "")
    assert shown["best"] == []  # nothing is called the best while it runs
    assert shown["left_s"] == pytest.approx(40 / 3 * 8, abs=0.1)


def test_the_end_has_the_answer_and_every_figure_with_its_words() -> None:
    shown = document(sweep())
    assert mismatches(shown, SweepDocument) == []
    assert (shown["status"], shown["by"]) == ("done", "speedup")
    assert shown["sentence"].startswith("Use mode=max-autotune, threads=2")
    assert "mode='max-autotune'" in shown["code"]
    row = shown["rows"][0]
    assert [axis["name"] for axis in shown["axes"]] == ["mode", "threads", "batch"]
    assert row["settings"] == ["default", "1", "1"]
    assert dict(zip([f["title"] for f in shown["figures"]], row["words"], strict=True)) == {
        "Speed-up": "1.25 ×",
        "Call": row["words"][1],
        "Compile": "3.00 s",
        "First call": "2.00 ms",
        "Peak memory": "1.00 MB",
        "Kernels": "3",
        "DRAM traffic": "2.00 MB",
        "Artifact": "150 kB",
    }
    low, median, high, *rounds = row["rounds"]
    assert low <= median <= high
    assert len(rounds) == 30


def test_a_sweep_that_was_cancelled_says_so() -> None:
    rows = [replace(trial, status="cancelled") for trial in sweep().trials[6:]]
    cut = replace(sweep(), trials=(*sweep().trials[:6], *rows))
    assert document(cut)["status"] == "cancelled"


def test_a_huge_sweep_stays_small_and_counts_what_is_left_out() -> None:
    row = sweep().trials[0]
    many = tuple(replace(row, key=f"{n}", settings=(("n", f"{n}"),)) for n in range(MOST_ROWS + 5))
    huge = Sweep("f", {"n": tuple(map(str, range(len(many))))}, (), many)
    shown = document(huge, Live(planned=[trial.settings for trial in many]))
    assert (len(shown["rows"]), shown["more"]) == (MOST_ROWS, 5)
    assert len(pack({"sweep": shown}, SMALL)) < 200_000


@pytest.fixture
def mail() -> Mailbox:
    return Mailbox(SweepView(recorded()))


def test_a_row_opens_as_its_full_record(mail: Mailbox) -> None:
    answer, made = mail.ask("row", question={"row": "dynamic=True", "part": "document"})
    assert answer["error"] is None
    assert mismatches(made, wire.Document) == []
    assert made["variable"] == "found.report(1)"
    graph = made["graphs"][0]["part"]
    answer, part = mail.ask("row", question={"row": "dynamic=True", "part": graph})
    assert mismatches(part, wire.GraphPart) == []


def test_two_rows_are_compared_under_what_differs_in_them(mail: Mailbox) -> None:
    rows = ["dynamic=False", "dynamic=True"]
    answer, made = mail.ask("compare-rows", question={"rows": rows})
    assert answer["error"] is None
    assert mismatches(made, DiffDocument) == []
    assert (made["a"]["name"], made["b"]["name"]) == ("dynamic=False", "dynamic=True")
    assert not made["is_same"]
    assert recorded().diff(0, 1).names == ("dynamic=False", "dynamic=True")


@pytest.mark.parametrize(
    ("name", "question", "words"),
    [
        ("row", {"row": "dynamic=maybe", "part": "document"}, "dynamic=maybe has no report: its"),
        ("row", {"row": "dynamic=no", "part": "document"}, "dynamic=no has not ended yet"),
        ("row", {"row": "dynamic=True", "part": "pie"}, "Unknown part 'pie'"),
        ("compare-rows", {"rows": ["dynamic=True"]}, "Select two rows to compare, not 1"),
        ("cancel", None, "Nothing is running here"),
        ("document", None, "A sweep has no part 'document'"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(
    mail: Mailbox, name: str, question: Any, words: str
) -> None:
    answer, part = mail.ask(name, question=question)
    assert words in (answer["error"] or "")
    assert part is None


def test_cancel_reaches_what_runs() -> None:
    asked: list[bool] = []
    view = SweepView(sweep(), Live(planned=GRID), cancel=lambda: asked.append(True))
    answer, _ = Mailbox(view).ask("cancel")
    assert (answer["error"], asked) == (None, [True])


def test_the_view_follows_and_ends() -> None:
    view = SweepView(replace(sweep(), trials=()), Live(planned=GRID))
    shown: Callable[[], Any] = lambda: json.loads(gzip.decompress(view.sweep))  # noqa: E731
    assert [row["status"] for row in shown()["rows"]] == ["waiting"] * 12
    view.follow(sweep())
    assert shown()["status"] == "done"
    assert repr(view) == "Workbench view of the sweep of f"


def test_each_message_has_one_answer_in_a_sentence() -> None:
    trial = Trial("k", (("mode", "default"),))
    refuse_each_message(SweepView(Sweep("f", {"mode": ("default",)}, (), (trial,), 1.0)))
