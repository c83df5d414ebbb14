"""A live view tries a cure of a graph break where the call is alive, and shows what came of it."""

from __future__ import annotations

import torch
from view_mail import Mailbox

import workbench as wb
from workbench.views.widgets.display import show


def printing(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print("in between")
    return y * 2


def test_a_cure_is_tried_and_its_patch_shown() -> None:
    x = torch.ones(3)
    mail = Mailbox(show(wb.explain(printing, (x,))).live())
    _, shown = mail.ask("document")
    assert shown["actions"]["cure"] is None
    assert [cure["outcome"] for cure in shown["breaks"][0]["cures"]] == [None] * 3
    answer, _ = mail.ask("cure", question={"id": "b0", "cure": 0})
    assert answer["error"] is None
    assert mail.view.progress["task"] == "trial"
    mail.view._live_actions.join(60)
    _, shown = mail.ask("document")
    first, second, third = shown["breaks"][0]["cures"]
    outcome = first["outcome"]
    assert outcome["words"].startswith("It helps. 2 graphs, 1 break before, now 1 graph, 0 breaks.")
    assert (outcome["tone"], second["outcome"]) == ("captured", None)
    assert "+    if not torch.compiler.is_compiling():" in outcome["patch"]
    assert third["lines"][0] == ["+", "print_outside = torch.compiler.disable(print)"]


def test_the_rewrite_of_the_overview_can_be_tried_too() -> None:
    x = torch.ones(3)
    mail = Mailbox(show(wb.explain(printing, (x,))).live())
    _, shown = mail.ask("document")
    row = next(each for each in shown["advice"]["rows"] if each["rule"] == "break-rewrite")
    assert row["change"]["why_not"] is None
    mail.ask("try", question={"opportunity": row["id"]})
    mail.view._live_actions.join(60)
    _, shown = mail.ask("document")
    tried = next(each["tried"] for each in shown["advice"]["rows"] if each["id"] == row["id"])
    assert ("Graph breaks, counted", "1", "0") in [tuple(each) for each in tried["rows"]]


def test_a_record_alone_has_the_cures_but_tries_none() -> None:
    mail = Mailbox(show(wb.explain(printing, (torch.ones(3),)).report).live())
    _, shown = mail.ask("document")
    assert "no live function" in shown["actions"]["cure"]
    (cure, *_) = shown["breaks"][0]["cures"]
    assert cure["lines"] == [
        ["-", 'print("in between")'],
        ["+", "if not torch.compiler.is_compiling():"],
        ["+", "    print('in between')"],
    ]
    assert "no live function" in cure["why_not"]
    answer, _ = mail.ask("cure", question={"id": "b0", "cure": 0})
    assert "no live function" in (answer["error"] or "")
