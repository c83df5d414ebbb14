"""Marks what needs a GPU; a folder of its own, so that `make test-gpu` runs it by its place."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("gpu")
