from __future__ import annotations

from workbench.glossary import find_term
from workbench.worlds.sweeps.views.sweep_document import SHOWN


def test_every_figure_has_a_word() -> None:
    assert [title for _, title in SHOWN if find_term("sweep", title) is None] == []
