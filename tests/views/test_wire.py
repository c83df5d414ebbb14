from __future__ import annotations

import pytest

from workbench.views.typescript import list_files, typescript


def test_the_types_of_the_front_end_are_current() -> None:
    stale = [path for path, text in list_files().items() if path.read_text("utf-8") != text]
    assert not stale, "the wire changed: run python -m workbench.views.typescript"


@pytest.mark.world("numerics")
def test_a_world_has_its_own_types_and_adds_to_the_document() -> None:
    (text,) = [text for path, text in list_files().items() if path.parent.name == "numerics"]
    assert 'import type { ProposedChange } from "../../wire";' in text
    assert 'declare module "../../wire" {' in text
    assert "    deviations: Deviation[];" in text


def test_every_form_of_the_wire_has_its_typescript() -> None:
    text = typescript()
    assert 'export type Tone = "plain" | "captured" | "break" | "fallback" | "folded";' in text
    assert "  state: LineState;" in text
    assert "  bytes: (number | null)[];" in text
    assert "  facts: [string, string][];" in text
    assert "  omitted: Record<string, number>;" in text
    assert "  select?: string;" in text
    assert "export const VERSION = 1;" in text
