"""A sweep while it runs: its live view in a notebook, lines where there is none."""

from __future__ import annotations

import gzip
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.views.sweep.test_sweep_views import sweep
from workbench.notebook import following
from workbench.notebook.following import Following

SETTINGS = [trial.settings for trial in sweep().trials]


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch, shell: InteractiveShell) -> list[Any]:
    """A notebook that somebody looks at, and the views that it was given."""
    views: list[Any] = []
    monkeypatch.setattr(following, "is_interactive", lambda shell: True)
    monkeypatch.setattr(following, "publish_live", lambda shell, view: views.append(view))
    monkeypatch.setattr(following, "take_back", lambda shell, view: views.remove(view))
    monkeypatch.setattr(shell, "kernel", SimpleNamespace(), raising=False)
    return views


def running() -> Any:
    cancelled = threading.Event()
    return SimpleNamespace(
        planned=SETTINGS,
        tried=(SETTINGS[1],),
        rows={SETTINGS[0]: sweep().trials[0]},
        from_store=set(),
        so_far=sweep,
        cancel=cancelled.set,
        cancelled=cancelled,
    )


def status(view: Any) -> str:
    return str(json.loads(gzip.decompress(view.sweep))["status"])


def test_one_view_follows_the_sweep_and_is_what_it_is_shown_with(
    published: list[Any], shell: InteractiveShell
) -> None:
    told = Following(shell, "found")
    told.started(running())
    (view,) = published
    assert status(view) == "running"
    found = told.end(sweep())
    assert status(view) == "done"
    assert found.view is view
    assert found == sweep()


def test_its_cancel_reaches_the_sweep(published: list[Any], shell: InteractiveShell) -> None:
    told, begun = Following(shell), running()
    told.started(begun)
    published[0]._answer("cancel", None)
    assert begun.cancelled.is_set()
    told.close()
    assert published == []


def test_without_a_view_there_is_a_line_for_each_row(
    published: list[Any], shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    told = Following(shell, is_viewed=False)
    told.started(running())
    for row in sweep().trials[:4]:
        told(row, from_store=row is sweep().trials[1])
    assert told.end(sweep()).view is None
    assert published == []
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1: mode=default, threads=1, batch=1: 1.25 × (")
    assert lines[-1].endswith("crashed: its process was ended")
