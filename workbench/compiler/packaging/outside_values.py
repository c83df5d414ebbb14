"""Values from outside that a model reads while it is captured: frozen in the package."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch

from workbench.compiler.packaging.python_state import find_outer_functions
from workbench.compiler.sources.sources import Places

_CLOCKS = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns")
_DRAWS = ("random", "uniform", "randint", "randrange", "choice", "gauss", "normalvariate")
_BETWEEN = frozenset(
    function.__code__.co_filename for function in (os.getenv, Mapping.get, Mapping.__contains__)
)


@contextmanager
def frozen_reads(module: torch.nn.Module) -> Iterator[list[str]]:
    """A sentence for each line of the user that reads the environment, a clock or random numbers.

    They are seen while they run, in this thread: torch.export runs a model's Python once.
    """
    lines: dict[str, None] = {}
    sentences: list[str] = []
    places, thread = Places(), threading.get_ident()

    def note(what: str) -> None:
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename in _BETWEEN:
            frame = frame.f_back
        file = frame.f_code.co_filename
        if threading.get_ident() == thread and places.is_own(file):
            lines[f"{what} is frozen at capture: {file}:{frame.f_lineno}"] = None

    def watched(function: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            note(what)
            return function(*args, **kwargs)

        return call

    wrapped = {
        getattr(owner, name): (owner, name, watched(getattr(owner, name), f"{title}.{name}()"))
        for owner, title, names in ((time, "time", _CLOCKS), (random, "random", _DRAWS))
        for name in names
    }
    with ExitStack() as stack:
        stack.enter_context(_environment_watched(note))
        for owner, name, call in wrapped.values():
            stack.enter_context(mock.patch.object(owner, name, call))
        for place in find_outer_functions(module):  # from time import time
            if place.before in wrapped:
                place.put(wrapped[place.before][2])
                stack.callback(place.put, place.before)
        yield sentences
    sentences += lines


@contextmanager
def _environment_watched(note: Callable[[str], None]) -> Iterator[None]:
    kind = type(os.environ)
    read = kind.__getitem__

    def getitem(environment: Any, key: Any) -> Any:
        note(f"the environment variable {key}")
        return read(environment, key)

    with mock.patch.object(kind, "__getitem__", getitem):
        yield
