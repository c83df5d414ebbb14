from __future__ import annotations

from types import SimpleNamespace

import pytest

from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.widgets.display import show


def test_text_and_html_come_together(sample_report: Report) -> None:
    shown = show(SimpleNamespace(report=sample_report))
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == repr(shown)


def test_something_without_a_report_is_refused() -> None:
    with pytest.raises(UsageError, match="int cannot be shown"):
        show(3)


def test_annotated_lines_are_text_too(sample_report: Report) -> None:
    shown = show(sample_report).annotated("~/models/block.py", "\n" * 12 + "h = 1")
    assert repr(shown).split() == ["✓", "13", "h", "=", "1", "k0", "182", "µs"]
