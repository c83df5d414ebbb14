"""What a live view starts about numbers."""

from __future__ import annotations

import numerics_cases as cases
import pytest
import torch
from view_mail import Mailbox

import workbench as wb
from tests.tasks.cancelling import start_and_cancel
from workbench.tasks.background_task import Cancelled
from workbench.views.widgets.display import show
from workbench.worlds.numerics.findings import causes
from workbench.worlds.numerics.findings.numerics_cures import describe_price
from workbench.worlds.numerics.findings.numerics_record import read_numerics
from workbench.worlds.numerics.questions import live_numerics


def test_a_view_is_filled_by_a_comparison_and_its_cure_gets_a_price(tmp_path, monkeypatch) -> None:
    args = cases.draw(8, 32, dtype=cases.BF), cases.draw(32, dtype=cases.BF, seed=1)
    compiled = wb.aot_compile(cases.softmax_chain, args, grad=False)
    shown = show(compiled)
    view = shown.live()
    mail = Mailbox(view)
    _, before = mail.ask("document")
    assert before["numerics"] is before["actions"]["numerics"] is None
    mail.ask("numerics")
    shown.live_actions.join(120)
    document = mail.ask("document")[1]
    monkeypatch.chdir(tmp_path)
    line = next(row["write"] for row in document["deviations"] if row["kernel"])
    exec(line, {"wb": wb, "compiled": compiled})  # what Copy repro copies runs as it stands
    assert (tmp_path / "k0.py").is_file()
    found = document["numerics"]
    assert found["answers"][4][1].startswith("Not measured. ")
    cure, unfused = found["cures"]
    assert unfused["title"] == "compiled.with_fusion(unfused=['k0'])"
    assert (cure["outcome"], cure["why_not"]) == (None, None)
    mail.ask("numerics-cure", question={"opportunity": cure["id"]})
    shown.live_actions.join(240)
    found = mail.ask("document")[1]["numerics"]
    assert found["answers"][4][1].startswith("A call takes ")
    assert found["cures"][0]["outcome"]["words"].endswith("(modelled).")
    assert [row.option for row in compiled.report.numerics_cures] == [causes.EMULATE]


def test_it_ends_before_its_next_step_when_it_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = cases.draw(8, 8), cases.draw(8, 8, seed=1)
    compiled = wb.aot_compile(cases.pointwise, (x, y), grad=False)
    task = start_and_cancel(lambda: live_numerics.start_comparison(compiled), monkeypatch)
    with pytest.raises(Cancelled):
        task.result()
    assert not len(compiled.report.numerics_stages)


def test_inputs_that_are_gone_and_other_code_are_refused_in_a_sentence() -> None:
    compiled = wb.aot_compile(cases.gelu, (torch.ones(4, 4),), grad=False)
    with pytest.raises(wb.UsageError, match=r"call no longer exist: args\[0\]. Keep them in"):
        live_numerics.start_comparison(compiled)
    with pytest.raises(wb.UsageError, match=r"call no longer exist: args\[0\]. Keep them in"):
        wb.numerics(compiled)
    x = torch.ones(4, 4)
    eager = wb.aot_compile(cases.gelu, (x,), backend="aot_eager", grad=False)
    assert live_numerics.explain_no_comparison(eager) == (
        "The backend aot_eager generated no code to compare."
    )


def test_the_code_for_a_virtual_gpu_is_compared_by_the_interpreter() -> None:
    args = cases.draw(8, 32, dtype=cases.BF), cases.draw(32, dtype=cases.BF, seed=1)
    compiled = wb.aot_compile(cases.softmax_chain, args, grad=False, target="h100")
    assert live_numerics.explain_no_comparison(compiled) is None
    assert "in the interpreter" in live_numerics.describe_comparison(compiled)
    live_numerics.start_comparison(compiled).result()
    _, unfused = read_numerics(compiled.report).opportunities
    live_numerics.start_cure(compiled, unfused).result()
    (tried,) = compiled.report.numerics_cures
    assert tried.differ_after < tried.differ
    assert tried.kernels_after > tried.kernels == 1
    assert describe_price(tried).startswith("A call takes at least ")
