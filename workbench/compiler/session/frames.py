"""What a frame that is compiled is called, and where it is."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

_INLINED = "wrap_inline."  # torch's own around what has no frame of the user's


@dataclass(frozen=True)
class Frame:
    """A frame by the names of its user: those of what a wrapper wraps."""

    function: str
    file: str
    line: int


def frame_of(code: CodeType, closure: tuple[Any, ...] = ()) -> Frame:
    """What a frame is; of a wrapper, a decorator's or torch's own, what it wraps."""
    for cell in closure:
        try:
            inner = cell.cell_contents
        except ValueError:  # an empty cell
            continue
        if code.co_name == "wrapper" and isinstance(inner, FunctionType):
            return frame_of(inner.__code__, inner.__closure__ or ())
        if code.co_qualname.startswith(_INLINED) and callable(inner):
            return _inlined(inner, code)
    return Frame(_plain(code.co_qualname), code.co_filename, code.co_firstlineno)


def _inlined(inner: Any, code: CodeType) -> Frame:
    own = getattr(inner, "__self__", inner)  # a module whose forward is torch's own
    is_named = hasattr(inner, "__qualname__") and own is inner
    name = str(inner.__qualname__) if is_named else f"{type(own).__name__}.forward"
    called = inner if is_named else getattr(type(own), "forward", None)
    function = called.__func__ if isinstance(called, MethodType) else called
    at = function.__code__ if isinstance(function, FunctionType) else code
    return Frame(_plain(name), at.co_filename, at.co_firstlineno)


def _plain(name: str) -> str:
    return name.replace(".<locals>", "")
