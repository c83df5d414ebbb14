"""What torch writes into its structured trace while a compilation is recorded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.internals.trace import Record, TraceHandler


@contextmanager
def recorded(*others: logging.Handler) -> Iterator[TraceHandler]:
    """A recording that reads the stream with others; pytest, which reads it too, is left out."""
    log = tp.TRACE_LOG.get()
    before, log.handlers = log.handlers, [*others]
    try:
        with Patches() as patches:
            trace = TraceHandler(patches)
            trace.install()
            yield trace
        assert log.handlers == [*others]
    finally:
        log.handlers = before


def text(written: list[str]) -> Callable[[], str]:
    def write() -> str:
        written.append("x")
        return "long"

    return write


def artifact(name: str, write: Callable[[], str]) -> None:
    torch._logging.trace_structured(
        "artifact", lambda: {"name": name}, payload_fn=write, expect_trace_id=False
    )


def test_texts_that_nobody_reads_are_not_written() -> None:
    written: list[str] = []
    read: list[Record] = []
    with recorded() as trace:
        trace.on("wanted", read.append, "trace")
        artifact("wanted", text(written))
        artifact("other", text(written))
    assert [(row.name, row.payload) for row in read] == [("wanted", "long")]
    assert len(written) == 1
    assert trace.others["other"] == 1  # it is counted all the same


def test_another_reader_of_the_stream_gets_everything() -> None:
    written: list[str] = []
    with recorded(logging.NullHandler()):
        artifact("other", text(written))
    assert len(written) == 1


def test_a_listener_hears_once_and_no_longer_when_it_is_taken_off() -> None:
    read: list[Record] = []
    listener = read.append
    with recorded() as trace:
        for _ in range(2):  # a recorder that is entered again
            trace.on("wanted", listener, "trace")
        artifact("wanted", lambda: "1")
        trace.off("wanted", listener, "trace")
        artifact("wanted", lambda: "2")
    assert [row.payload for row in read] == ["1"]
