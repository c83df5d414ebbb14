from __future__ import annotations

from workbench.views.typescript import TARGET, typescript


def test_the_types_of_the_front_end_are_current() -> None:
    assert TARGET.read_text(encoding="utf-8") == typescript(), (
        "the wire changed: run python -m workbench.views.typescript"
    )


def test_every_form_of_the_wire_has_its_typescript() -> None:
    text = typescript()
    assert 'export type Tone = "plain" | "captured" | "break" | "fallback" | "folded";' in text
    assert "  state: LineState;" in text
    assert "  bytes: (number | null)[];" in text
    assert "  facts: [string, string][];" in text
    assert "  omitted: Record<string, number>;" in text
    assert "  select?: string;" in text
    assert "export const VERSION = 1;" in text
