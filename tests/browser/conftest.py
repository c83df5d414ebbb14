"""Chromium and a JupyterLab for the browser tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")

from tests.browser.cells import Notebook
from tests.browser.driving import (  # what it imports is only there with the test packages
    Lab,
    Watched,
    running_lab,
    watched_page,
)

pytest.register_assert_rewrite("tests.browser.saved_pages")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Watched]]:
    contexts = []

    def open_page(*, width: int = 1280, scheme: str = "light") -> Watched:
        size = {"width": width, "height": 900}
        context = chromium.new_context(viewport=size, color_scheme=scheme)
        contexts.append(context)
        return watched_page(context)

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Iterator[Lab]:
    with running_lab(tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("home")) as lab:
        yield lab


@pytest.fixture(scope="module")
def open_notebook(lab: Lab, chromium: Any) -> Iterator[Callable[..., Notebook]]:
    contexts = []

    def open_notebook(name: str, *cells: str, before: str = "") -> Notebook:
        contexts.append(chromium.new_context(viewport={"width": 1280, "height": 900}))
        return Notebook(lab, contexts[-1], name, *cells, before=before)

    yield open_notebook
    for context in contexts:
        context.close()
