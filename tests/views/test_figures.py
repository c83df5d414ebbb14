from __future__ import annotations

import pytest

from workbench.errors import UsageError
from workbench.report import Report


@pytest.mark.parametrize("name", ["phases", "kernels", "fusion", "autotune"])
def test_charts_draw_what_the_report_holds(sample_report: Report, name: str) -> None:
    (axes,) = sample_report.plot(name).axes
    assert axes.patches
    assert axes.get_xlabel()


def test_an_unknown_or_empty_chart_is_a_sentence(sample_report: Report) -> None:
    with pytest.raises(UsageError, match=r"no chart 'pie'.*phases"):
        sample_report.plot("pie")
    with pytest.raises(UsageError, match="Nothing to draw for 'phases'"):
        Report().plot("phases")
