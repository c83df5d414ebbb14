"""What a live view starts about kernels, in the background."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from view_mail import Mailbox

import workbench as wb
from tests.tasks.cancelling import start_and_cancel
from tests.worlds.own_kernels.programs.faulty_kernels import without_mask
from tests.worlds.own_kernels.programs.gluon_kernels import SWIZZLED, copy_transposed
from tests.worlds.own_kernels.programs.kernels import add
from workbench.tasks.background_task import Cancelled
from workbench.tasks.live_action import LiveAction
from workbench.views.widgets.display import show
from workbench.worlds.own_kernels.handles.own_kernel import OwnKernel

X = torch.ones(1024)


def make(function: Any = add, x: torch.Tensor = X) -> OwnKernel:
    return wb.kernel(function, x, x, torch.empty_like(x), x.numel(), grid=(4,), BLOCK=256)


def find_actions(kernel: OwnKernel) -> dict[str, LiveAction]:
    return {action.id: action for action in kernel.live_actions}


def find_pane(document: Any, id: str) -> Any:
    return next(pane for pane in document["panes"] if pane["id"] == id)


def test_empty_panes_of_a_kernel_are_filled_from_its_view() -> None:
    kernel = make(without_mask, X[:1000])
    shown = show(kernel)
    mail = Mailbox(shown.live())
    before = mail.ask("document")[1]
    assert before["actions"]["check-kernels"] is before["actions"]["accesses"] is None
    assert find_pane(before, "checks")["empty"]["action"]["line"] == "k.check(reference)"
    assert find_pane(before, "accesses")["empty"]["action"]["line"] == 'k.frame("accesses")'
    mail.ask("check-kernels")
    mail.ask("accesses")
    assert shown.live_actions is not None
    shown.live_actions.join(120)
    after = mail.ask("document")[1]
    assert after["checks"]["sentence"].startswith("Out of bounds: line ")
    assert len(after["accesses"]) == 3
    assert find_pane(after, "checks")["empty"] is find_pane(after, "accesses")["empty"] is None
    assert len(kernel.report.kernel_findings)


def test_it_tells_how_many_calls_and_rows_are_done() -> None:
    steps: list[dict[str, Any]] = []
    for id in ("check-kernels", "accesses"):
        task = find_actions(make())[id].start()
        task.result(120)
        steps += task.progress["steps"]
    names = [step["name"] for step in steps]
    assert names.count("running under watch") == 3
    assert [step["counted"] for step in steps[:2]] == ["0 of 2 calls", "1 of 2 calls"]
    assert steps[names.index("trying fixes")]["counted"] == "2 of 3 rows"


def test_what_is_cancelled_leaves_the_record_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = make()
    before = kernel.report
    actions = find_actions(kernel)
    for id in ("check-kernels", "accesses"):
        task = start_and_cancel(actions[id].start, monkeypatch)
        with pytest.raises(Cancelled):
            task.result(60)
        assert kernel.report is before


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (lambda: make(x=X.to("meta")), "A tensor is on the meta device and has no data"),
        (
            lambda: wb.kernel(
                copy_transposed, *(torch.zeros(64, 64),) * 2, grid=(1,), M=64, N=64, SHARED=SWIZZLED
            ),
            "Gluon kernels are compiled here but",
        ),
    ],
    ids=["meta", "gluon"],
)
def test_what_cannot_be_run_says_why_in_the_place_of_a_button(kernel: Any, words: str) -> None:
    made = kernel()
    actions = find_actions(made)
    assert words in (actions["accesses"].why_not or "")
    is_run = made.call.is_data_free  # for what its sizes decide
    assert is_run == (actions["check-kernels"].why_not is None)
    assert actions["retarget"].why_not is None


def test_another_gpu_takes_the_place_of_the_one_that_is_shown() -> None:
    shown = show(make())
    mail = Mailbox(shown.live())
    mail.ask("retarget", question={"targets": ["a100"]})
    assert shown.live_actions is not None
    shown.live_actions.join(120)
    document = mail.ask("document")[1]
    assert (document["target"], document["variable"]) == ("a100", 'k.on("a100").report')
    mail.ask("compare-targets", question={"targets": ["a100", "mi300x"]})
    shown.live_actions.join(120)
    assert len(mail.ask("document")[1]["matrix"][0]["cells"]) == 2


def test_what_a_kernel_has_not_is_refused_with_what_it_has() -> None:
    actions = find_actions(make())
    for id in ("profile", "autotune", "numerics", "save"):
        assert re.search(r"`k\.\w+\(", actions[id].why_not or ""), id
        with pytest.raises(wb.UsageError):
            actions[id].start()


def test_kernels_of_a_program_are_run_on_the_inputs_of_its_compilation() -> None:
    inputs = (torch.ones(64, 64),)
    compiled = wb.aot_compile(lambda x: x.relu().sum(1), inputs, target="h100", grad=False)
    shown = show(compiled)
    mail = Mailbox(shown.live())
    before = mail.ask("document")[1]
    assert before["actions"]["check-kernels"] is None
    assert before["efforts"]["check-kernels"].startswith(
        "Runs every program instance of 1 Triton kernel on the CPU"
    )
    assert 'compiled.kernel("k0")' in before["actions"]["accesses"]
    mail.ask("check-kernels")
    assert shown.live_actions is not None
    shown.live_actions.join(120)
    assert mail.ask("document")[1]["checks"]["sentence"].startswith("Nothing found in ")
