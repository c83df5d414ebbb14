"""Errors that an argument itself raised: which one it was, in a sentence.

A list that holds itself, or an object whose own `__len__` fails, is only noticed by who reads it,
which may be deep within torch. No check beforehand could ask everything that a call will ask.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType, TracebackType
from typing import Any

from workbench.errors import read_first_line

_OWN = os.path.dirname(os.path.abspath(__file__))
_PYTHON = sysconfig.get_paths()["stdlib"]
_INSTALLED = (os.path.join(_PYTHON, "site-packages"), os.path.join(_PYTHON, "dist-packages"))
_ASKED = frozenset(
    f"__{name}__"
    for name in (
        *("len", "lt", "le", "gt", "ge", "eq", "ne", "hash", "bool", "nonzero", "iter", "next"),
        *("getitem", "contains", "reversed", "fspath", "index", "int", "float", "complex", "array"),
        *("repr", "str", "format", "getattr", "getattribute", "reduce", "reduce_ex", "getstate"),
        *("copy", "deepcopy"),
    )
)
"""Methods by which Python reads any object; none of them is the work that a call asks for."""
_READERS = frozenset(("keys", "values", "items", "get", "read", "seek"))
_DEEPEST = 200
"""Lists and dicts within each other; what torch takes apart has a few, and Python has 1,000."""
_MOST = 100_000  # objects that are looked at


def explain_own_error(error: BaseException, given: Mapping[str, Any]) -> str | None:
    """What is wrong with the argument that raised, or that nests too deep; None: it was none."""
    if isinstance(error, RecursionError):
        deep = (name for name, value in given.items() if _nests_too_deep(value))
        name = next(deep, None)
        if name is not None:
            return f"{name} nests deeper than {_DEEPEST} levels, or contains itself."
    raised_in = _first_foreign_frame(error.__traceback__)
    if raised_in is None or not raised_in.f_code.co_argcount:
        return None
    owner = raised_in.f_locals.get(raised_in.f_code.co_varnames[0])
    methods = {*_methods_of(owner, raised_in.f_code)}
    name = next((n for n, value in given.items() if _holds(value, owner)), None)
    if name is not None and methods & (_ASKED | _READERS):
        return tell_unreadable(name, owner, error)
    # no argument: what a function of the user returned
    return tell_unreadable("A value that the call uses", owner, error) if methods & _ASKED else None


def tell_unreadable(name: str, owner: object, error: BaseException) -> str:
    """The sentence about an argument that is, or holds, an object whose own method raised."""
    kind = type(owner).__name__
    return f"{name} is a {kind} that raises when it is read ({type(error).__name__}: " + (
        f"{read_first_line(error)})."
    )


def _methods_of(owner: object, code: CodeType) -> Iterator[str]:
    """The names under which the class of an object has this code."""
    for base in type(owner).__mro__:
        for name, member in vars(base).items():
            if getattr(member, "__code__", None) is code:
                yield name


def _first_foreign_frame(traceback: TracebackType | None) -> FrameType | None:
    """The first frame that is neither the workbench's, nor torch's, nor of Python's library.

    A function of the user that reads an argument comes first: what that raises is its own.
    """
    while traceback is not None:
        if not _is_of_machinery(traceback.tb_frame.f_code.co_filename):
            return traceback.tb_frame
        traceback = traceback.tb_next
    return None


def _is_of_machinery(file: str) -> bool:
    if file.startswith((_OWN + os.sep, "<frozen ")):
        return True
    if f"{os.sep}torch{os.sep}" in file and f"{os.sep}site-packages{os.sep}" in file:
        return True
    return file.startswith(_PYTHON + os.sep) and not file.startswith(_INSTALLED)


def _holds(value: Any, owner: object) -> bool:
    """By their class: a call is run on copies of its inputs."""
    return any(type(one) is type(owner) for one, _ in _walk(value))


def _nests_too_deep(value: Any) -> bool:
    return any(depth > _DEEPEST for _, depth in _walk(value))


def _walk(value: Any) -> Iterator[tuple[Any, int]]:
    """An argument and what its lists and dicts hold, with the depth of each; bounded.

    The methods of a subclass are not asked: they may be what raises.
    """
    waiting = [(value, 0)]
    for _ in range(_MOST):
        if not waiting:
            return
        one, depth = waiting.pop()
        yield one, depth
        if depth > _DEEPEST:
            return
        if isinstance(one, dict):
            waiting += [(held, depth + 1) for held in dict.values(one)]
        elif isinstance(one, list):
            waiting += [(held, depth + 1) for held in list.__iter__(one)]
        elif isinstance(one, tuple):
            waiting += [(held, depth + 1) for held in tuple.__iter__(one)]
