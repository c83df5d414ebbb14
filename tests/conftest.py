from __future__ import annotations

import pytest
import sample_report as sample

from workbench.report import Report


@pytest.fixture
def sample_report() -> Report:
    return sample.make()
