from __future__ import annotations

import json

from workbench.analysis.redact import redact
from workbench.report import Report


def test_nothing_of_the_source_is_left_in_the_record(sample_report: Report) -> None:
    clean, dropped = redact(sample_report)
    text = json.dumps(clean.to_json())
    for secret in ("torch.relu", "vectorised", "h.abs()", "heads == 16", "TensorVariable"):
        assert secret not in text
    assert any("functions" in words for words in dropped)


def test_shapes_counts_and_times_stay(sample_report: Report) -> None:
    clean, _ = redact(sample_report)
    assert len(clean.kernels) == len(sample_report.kernels)
    assert clean.nodes[1].shape == (512, 1024)
    assert clean.phases[0] == sample_report.phases[0]


def test_an_empty_report_drops_nothing() -> None:
    assert redact(Report())[1] == ()
