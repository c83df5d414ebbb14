"""torch's lines about a guard that fails are held back with the error, and shown without one."""

from __future__ import annotations

import contextlib
import logging
import threading

import pytest

from workbench.compiler.internals.failed_compilation import hold_logs

LOG = logging.getLogger("torch._guards")


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture(autouse=True)
def heard(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Hearing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    monkeypatch.setattr(LOG, "handlers", [Hearing()])
    monkeypatch.setattr(LOG, "propagate", False)


def test_what_belongs_to_an_error_is_not_shown(lines: list[str]) -> None:
    with contextlib.suppress(KeyError), hold_logs():
        LOG.error("Error while creating guard")
        raise KeyError
    assert (lines, LOG.filters) == ([], [])
    LOG.error("later")
    assert lines == ["later"]


def test_what_ends_well_is_shown_after_all(lines: list[str]) -> None:
    with hold_logs():
        LOG.error("a warning")
        assert lines == []
    assert (lines, LOG.filters) == (["a warning"], [])


def test_another_thread_is_heard_meanwhile(lines: list[str]) -> None:
    with hold_logs():
        other = threading.Thread(target=LOG.error, args=("of another",))
        other.start()
        other.join()
        assert lines == ["of another"]
