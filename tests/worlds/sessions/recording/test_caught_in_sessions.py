"""A session says which operators may raise where only eager code catches it."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from tests.analysis.source.test_caught_errors import caught, elsewhere
from workbench.worlds.sessions.views.session_facts import notes as session_notes


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_session_says_so_without_making_a_report(backend: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(caught, backend=backend)
    with wb.session() as session:
        for size in (3, 4):
            compiled(torch.eye(size) + torch.ones(size, size) / 9)
        torch.compile(elsewhere, backend="eager")(torch.eye(3))
    (said,) = (note for note in session_notes(session) if "Eager code catches" in note)
    assert said.startswith("cholesky at ")
    assert "may raise in the `try` of line" in said
    assert len(session.frame("compiles")) == 3
    kept = wb.Session.from_bytes(session.to_bytes(), "kept.wbs")
    assert said in session_notes(kept)
