from __future__ import annotations

import json
from dataclasses import replace

from workbench.report import Break, Report, Table
from workbench.views.pages.redaction import redact


def test_nothing_of_the_source_is_left_in_the_record(sample_report: Report) -> None:
    clean, dropped = redact(sample_report)
    text = json.dumps(clean.to_json())
    for secret in ("torch.relu", "vectorised", "h.abs()", "heads == 16", "TensorVariable"):
        assert secret not in text
    assert any("function" in words for words in dropped)


def test_shapes_counts_and_times_stay(sample_report: Report) -> None:
    clean, _ = redact(sample_report)
    assert len(clean.kernels) == len(sample_report.kernels)
    assert clean.nodes[1].shape == (512, 1024)
    assert clean.phases[0] == sample_report.phases[0]


def test_an_empty_report_drops_nothing() -> None:
    assert redact(Report())[1] == ()


def test_lines_that_an_explanation_quotes_are_dropped(sample_report: Report) -> None:
    told = 'The condition is computed so: # File "model.py", line 4, in f, code: if y.sum() > 0: g'
    (first, *_) = sample_report.breaks
    row = replace(first, explanation=told)
    report = replace(sample_report, tables={"breaks": Table.of(Break, [row])})
    clean, _ = redact(report)
    assert [b.explanation for b in clean.breaks] == [
        'The condition is computed so: # File "model.py", line 4, in f, code: (dropped)'
    ]
