"""What a frame that is compiled is called, and where it is."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from workbench.compiler.sources.sources import Places

_INLINED = "wrap_inline."  # torch's own around what has no frame of the user's


@dataclass(frozen=True)
class Frame:
    """A frame by the names of its user: those of what a wrapper wraps.

    `around` gives what a wrapper is around, while that lives; `arguments` are the names that the
    `args` of a wrapper have there. Both are empty for what is no wrapper.
    """

    function: str
    file: str
    line: int
    arguments: tuple[str, ...] = ()
    around: Callable[[], Any] | None = field(default=None, compare=False)


def frame_of(code: CodeType, closure: tuple[Any, ...] = ()) -> Frame:
    """What a frame is; of a wrapper, a decorator's or torch's own, what it wraps."""
    held = list(_contents(closure))
    if code.co_qualname.startswith(_INLINED):
        for each in filter(callable, held):
            return _inlined(each, code)
    inner = _wrapped(code, held)
    if inner is None:
        return Frame(_plain(code.co_qualname), code.co_filename, code.co_firstlineno)
    own = frame_of(inner.__code__, inner.__closure__ or ())
    names = own.arguments or _arguments(inner)[code.co_argcount :]
    return Frame(own.function, own.file, own.line, names, own.around or weakref.ref(inner))


def _contents(closure: tuple[Any, ...]) -> Iterator[Any]:
    for cell in closure:
        with suppress(ValueError):  # an empty cell
            yield cell.cell_contents


def _wrapped(code: CodeType, held: list[Any]) -> FunctionType | None:
    """What a decorator's inner function is around: a function that it holds on to.

    Whatever it is called, it hands all arguments on, to the only function that it knows.
    """
    functions = [
        each for each in held if isinstance(each, FunctionType) and each.__code__ is not code
    ]
    first = code.co_argcount + code.co_kwonlyargcount
    hands_on = code.co_varnames[first : first + 2] == ("args", "kwargs") and len(functions) == 1
    return functions[0] if functions and (code.co_name == "wrapper" or hands_on) else None


def _inlined(inner: Any, code: CodeType) -> Frame:
    own = getattr(inner, "__self__", inner)  # a module whose forward is torch's own
    is_named = hasattr(inner, "__qualname__") and own is inner
    name = str(inner.__qualname__) if is_named else f"{type(own).__name__}.forward"
    called = inner if is_named else getattr(type(own), "forward", None)
    function = called.__func__ if isinstance(called, MethodType) else called
    at = function.__code__ if isinstance(function, FunctionType) else code
    arguments = _arguments(function)[0 if is_named else 1 :]
    try:
        around: Callable[[], Any] | None = weakref.ref(own)
    except TypeError:  # a function of C cannot be referred to weakly, and lives anyway
        around = None
    return Frame(_plain(name), at.co_filename, at.co_firstlineno, arguments, around)


def _arguments(function: Any) -> tuple[str, ...]:
    """The names of the positional parameters of a function of Python."""
    if not isinstance(function, FunctionType):
        return ()
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def _plain(name: str) -> str:
    return name.replace(".<locals>", "")


def is_users(places: Places, file: str) -> bool:
    """Whether a file is the user's or a library's: neither torch's nor Python's own."""
    return places.is_user(file) and not places.shown(file).startswith("python/")


def find_calling_frame(places: Places) -> Frame | None:
    """The innermost line of the user's on the stack of this thread, else of a library."""
    of_library: FrameType | None = None
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if places.is_own(file):
            return _line_of(frame)
        if of_library is None and is_users(places, file) and not places.is_compiler(file):
            of_library = frame
        frame = frame.f_back
    return None if of_library is None else _line_of(of_library)


def _line_of(frame: FrameType) -> Frame:
    code = frame.f_code
    return Frame(_plain(code.co_qualname), code.co_filename, frame.f_lineno)


def collect_callers_locals() -> list[dict[str, Any]]:
    """What the functions on the stack of this thread hold in their names, the innermost first."""
    locals_by_frame = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        locals_by_frame.append(frame.f_locals)
        frame = frame.f_back
    return locals_by_frame
