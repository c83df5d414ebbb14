"""The same call with max-autotune, in the place of what a view shows."""

from __future__ import annotations

from typing import Any

import torch
from view_mail import Mailbox

import workbench as wb
from workbench.handles.recompilable import explain_no_autotune
from workbench.views.widgets.display import show


def double(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * 2


def test_it_takes_the_place_and_is_not_offered_again() -> None:
    compiled: Any = wb.aot_compile(double, (torch.rand(8, 8),))
    mail = Mailbox(show(compiled).live())
    _, before = mail.ask("document")
    assert before["efforts"]["autotune"].startswith("Recompiles once")
    mail.ask("autotune")
    assert mail.view.progress["title"] == "Compiling double with max-autotune…"
    actions = mail.view._live_actions
    assert actions is not None
    actions.join(120)
    _, after = mail.ask("document")
    assert after["variable"] == 'wb.aot_compile(fn, args, mode="max-autotune").report'
    assert after["actions"]["autotune"] == "It was already compiled with max-autotune."
    assert "autotune" not in after["efforts"]


def test_the_line_of_what_was_made_names_the_target_of_the_record() -> None:
    compiled: Any = wb.aot_compile(double, (torch.rand(8, 8),), target="h100")
    mail = Mailbox(show(compiled).live())
    mail.ask("retarget", question={"targets": ["a100"]})
    actions = mail.view._live_actions
    assert actions is not None
    actions.join(120)
    mail.ask("autotune")
    actions = mail.view._live_actions
    assert actions is not None
    actions.join(120)
    _, after = mail.ask("document")
    assert after["targets"]["present"] == "a100"
    line = 'wb.aot_compile(fn, args, mode="max-autotune", target="a100").report'
    assert after["variable"] == line


def test_guards_of_another_target_than_the_records_are_not_offered() -> None:
    compiled: Any = wb.aot_compile(double, (torch.rand(8, 8),))
    mail = Mailbox(show(compiled).live())
    assert mail.ask("document")[1]["sandbox"]["why_not"] is None
    mail.ask("compare-targets", question={"targets": ["t4", "a100"]})
    actions = mail.view._live_actions
    assert actions is not None
    actions.join(120)
    _, after = mail.ask("document")
    assert after["sandbox"]["why_not"].startswith("Guards for t4 cannot be tried")


def test_what_has_no_choices_says_so() -> None:
    eager: Any = wb.aot_compile(double, (torch.rand(8, 8),), backend="eager")
    assert explain_no_autotune(eager, None) == "The backend eager has no choices to benchmark."
    assert explain_no_autotune(eager, "It is gone.") == "It is gone."
