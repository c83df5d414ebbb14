"""Saving and comparing where a live view shows the call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from view_mail import Mailbox

import workbench as wb
from workbench.errors import UsageError
from workbench.handles.recompilable import start_check, start_save
from workbench.views.widgets.display import show


@pytest.fixture(scope="module")
def compiled() -> Any:
    return wb.aot_compile(torch.nn.Linear(8, 8).eval(), (torch.rand(4, 8),), grad=False)


def test_the_view_shows_the_file_and_how_it_compares(compiled: Any, tmp_path: Path) -> None:
    mail = Mailbox(show(compiled).live())
    _, before = mail.ask("document")
    assert before["efforts"]["save"] == (
        "Writes one file on the Jupyter kernel's machine, 288 B of it weights; nothing is executed."
    )
    assert before["file"]["can_save"]
    unsaved, _ = mail.ask("check", question={"machine": ""})
    assert "There is no file to check" in unsaved["error"]
    answer, _ = mail.ask("save", question={"path": str(tmp_path / "made")})
    assert answer["error"] is None
    assert mail.view.progress["title"] in ("Saving made…", "made")
    actions = mail.view._live_actions
    assert actions is not None
    actions.join(60)
    assert (tmp_path / "made.aot").is_file()
    mail.ask("check", question={"machine": ""})
    actions.join(60)
    _, after = mail.ask("document")
    assert after["file"]["checked"].startswith("It can be loaded on ")
    assert after["file"]["requirements"]


def test_nothing_is_written_over_and_a_name_is_needed(compiled: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.aot").write_text("mine")
    with pytest.raises(UsageError, match=r"already exists\. Choose another name"):
        start_save(compiled, str(tmp_path / "mine"))
    with pytest.raises(UsageError, match="Name the file"):
        start_save(compiled, "  ")


def test_a_file_that_is_gone_cannot_be_compared(compiled: Any, tmp_path: Path) -> None:
    start_save(compiled, str(tmp_path / "gone.aot")).result(60)
    (tmp_path / "gone.aot").unlink()
    with pytest.raises(UsageError, match="no longer exists"):
        start_check(compiled, "")
