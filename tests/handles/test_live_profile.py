"""Measuring where a live view shows the call: the button of its header."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from view_mail import Mailbox

import workbench as wb
from tests.tasks.cancelling import start_and_cancel
from workbench.errors import UsageError
from workbench.handles.compiled import Compiled
from workbench.handles.running.profile import start_profile
from workbench.report.profile_record import read_measured_call
from workbench.tasks.background_task import Cancelled
from workbench.views.widgets.display import show


def steps(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.softmax(torch.relu(x) @ w, -1)


@pytest.fixture(scope="module")
def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.rand(32, 64), torch.rand(64, 16)


@pytest.fixture(scope="module")
def compiled(inputs: tuple[torch.Tensor, torch.Tensor]) -> Compiled:
    found = wb.aot_compile(steps, inputs)
    assert isinstance(found, Compiled)
    return found


def test_the_view_shows_the_times_once_they_are_measured(compiled: Compiled) -> None:
    mail = Mailbox(show(compiled).live())
    _, before = mail.ask("document")
    assert before["actions"]["profile"] is None
    assert before["costs"][0]["kind"] == "bytes"
    answer, _ = mail.ask("profile")
    assert answer["error"] is None
    progress = mail.view.progress
    assert (progress["task"], progress["title"]) == ("measurement", "Measuring steps…")
    switch = mail.view._live_actions
    assert switch is not None
    again, _ = mail.ask("profile")
    assert again["error"] in (None, "Measuring steps is already in progress.")
    switch.join(60)
    assert mail.view.progress["status"] == "done"
    counted = {step["name"]: step.get("counted") for step in mail.view.progress["steps"]}
    assert counted["timing each kernel"] == "3 of 6 parts"
    _, after = mail.ask("document")
    assert after["costs"][0]["kind"] == "time"
    assert after["costs"][0]["source"].startswith("measured, median of ")
    assert all("time" in kernel["cost"] for kernel in after["kernels"])
    assert after["figures"][0]["note"].split(",")[0] in ("measured", "noisy")  # a busy machine
    assert (compiled.report.frame("costs").unit == "µs").all()


def test_inputs_that_are_gone_are_replaced_and_that_is_said() -> None:
    made = wb.aot_compile(steps, (torch.rand(32, 64), torch.rand(64, 16)))
    assert isinstance(made, Compiled)
    found = start_profile(made).result(60)
    call = read_measured_call(found.report)
    assert call is not None
    assert call.notes[0].startswith("zeros were used for inputs that no longer exist: ")


def test_cancelling_leaves_the_report_as_it_was(
    inputs: tuple[torch.Tensor, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = wb.aot_compile(steps, inputs)
    assert isinstance(made, Compiled)
    before = made.report
    job = start_and_cancel(lambda: start_profile(made), monkeypatch)
    with pytest.raises(Cancelled):
        job.result()
    assert made.report is before


def test_what_cannot_be_measured_says_why(compiled: Compiled, tmp_path: Path) -> None:
    digest = compiled.save(tmp_path / "steps.aot")
    loaded = wb.load(tmp_path / "steps.aot", trust=digest)
    assert isinstance(loaded, Compiled)
    assert "loaded from a file" in (loaded.why_no_profile or "")
    with pytest.raises(UsageError, match="profile"):
        start_profile(loaded)
    eager = wb.aot_compile(steps, (torch.rand(4, 4), torch.rand(4, 4)), backend="eager")
    assert isinstance(eager, Compiled)
    why = "The backend eager generated no kernels to measure."
    assert eager.why_no_profile == why


def counted(total: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    total.add_(1)
    return torch.relu(x) + total


def test_an_input_that_is_also_bound_is_measured_and_compared_as_it_is() -> None:
    total = torch.zeros(64)
    made = wb.aot_compile(partial(counted, total), (total,), grad=False)
    assert isinstance(made, Compiled)
    assert start_profile(made).result(60).call_us > 0
    assert made.verify(total).ok
    assert (total == 0).all()  # put back
