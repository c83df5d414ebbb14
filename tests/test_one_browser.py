"""Fixtures start one Chromium in a process: a second is refused while the first runs."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent


def test_one_fixture_starts_chromium_for_all_folders() -> None:
    starts = [
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if re.search(r"^ +with running_chromium\(", path.read_text(), re.MULTILINE)
        and "@pytest.fixture" in path.read_text()
    ]
    assert starts == ["conftest.py"]
