"""Room for Python's frames while torch compiles.

CPython keeps the frames of a thread in chunks of 16 KiB and gives a chunk back to the system as
soon as its first frame returns (`_PyThreadState_PushFrame` and `PopFrame` in Python/pystate.c). A
busy loop that happens to run at the end of a chunk maps and unmaps memory with every call: in a
compilation tens of thousands of page faults, 3 to 7 % of its time. A frame that does not fit into
16 KiB gets the next power of two, and what it leaves over is there for all frames above it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_SLOTS = 65_600
"""Values of 8 bytes: just over 512 KiB, so that the chunk is 1 MiB and half of it is left over."""


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


_call_with_room = FunctionType(_call.__code__.replace(co_stacksize=_SLOTS), {})


def large_stack_chunk(function: Callable[P, R]) -> Callable[P, R]:
    """The function, called with half a MiB for the frames above it in one piece."""

    @functools.wraps(function)
    def in_large_chunk(*args: P.args, **kwargs: P.kwargs) -> R:
        result: R = _call_with_room(function, args, kwargs)
        return result

    return in_large_chunk
