"""Work that is cancelled while it tells its first step, however fast the machine is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from workbench.tasks.background_task import BackgroundTask, Steps


def start_and_cancel(
    start: Callable[[], BackgroundTask[Any]], monkeypatch: pytest.MonkeyPatch
) -> BackgroundTask[Any]:
    """What `start` gives, ended: cancelled as it told its first step."""
    told, go_on = threading.Event(), threading.Event()
    heard = Steps._heard

    def wait(steps: Steps) -> None:
        told.set()
        assert go_on.wait(60)
        heard(steps)

    with monkeypatch.context() as patched:
        patched.setattr(Steps, "_heard", wait)
        task = start()
        assert told.wait(60)
        assert task.cancel()
        go_on.set()
        assert task.wait(60)
    return task
