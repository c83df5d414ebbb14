"""How work tells what it does: which phase begins, which ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

ProgressCallback = Callable[[str, float], object]
"""Called when a phase begins, with its name and the seconds since the start.

Where it has methods, `end(name, seconds)` is called when a phase ends, `kernel(name)` when a
kernel was generated and `count(done, of, thing)` when so many things of a phase are done.
"""


class ProgressRaised(BaseException):
    """What a listener raised, on its way past whoever catches errors: observers, torch."""

    def __init__(self, error: Exception):
        super().__init__(str(error))
        self.error = error


def pass_errors(listener: Callable[..., object] | None) -> Callable[..., object] | None:
    """The same listener, whose errors nobody takes for those of an observer or of the compiler."""
    if listener is None:
        return None

    def call(*arguments: object) -> object:
        try:
            return listener(*arguments)
        except Exception as error:
            raise ProgressRaised(error) from error

    return call


@contextmanager
def step(progress: ProgressCallback | None, name: str) -> Iterator[None]:
    """A phase that begins and ends here; what `progress` raises at its beginning ends the work."""
    began = time.monotonic()
    ProgressEvent("begin", name).pass_on(progress)
    yield
    ProgressEvent("end", name, time.monotonic() - began).pass_on(progress)


def listens_to_counts(progress: ProgressCallback | None) -> bool:
    """Whether it is told how many are done; a plain function only gets names of phases."""
    return hasattr(progress, "count")


def tell_count(progress: ProgressCallback | None, done: int, of: int, thing: str) -> None:
    """Say how many things of the running phase are done; `thing` names one of them."""
    if (count := getattr(progress, "count", None)) is not None:
        count(done, of, thing)


@dataclass(frozen=True)
class ProgressEvent:
    """What happened, `elapsed` seconds after the work began: "begin", "end" or "kernel"."""

    what: str
    name: str
    elapsed: float = 0.0

    def pass_on(self, progress: ProgressCallback | None) -> None:
        """Call what `progress` has for it."""
        if self.what == "begin" and progress is not None:
            progress(self.name, self.elapsed)
        elif self.what == "end" and (end := getattr(progress, "end", None)) is not None:
            end(self.name, self.elapsed)
        elif self.what == "kernel" and (kernel := getattr(progress, "kernel", None)) is not None:
            kernel(self.name)
