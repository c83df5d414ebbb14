"""A call that is named on the command line: a function of a module, its arguments as Python."""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, NoReturn

from workbench.compiler.internals.signatures import signature_of
from workbench.errors import UsageError, describe_error


@contextmanager
def raise_exits() -> Iterator[None]:
    """Let `os._exit` of a program raise `SystemExit`: the exit code of the command is its own."""
    process, end = os.getpid(), os._exit

    def exit(status: int) -> NoReturn:
        if os.getpid() != process:  # a child that the program forked
            end(status)
        raise SystemExit(status)

    os._exit = exit
    try:
        yield
    finally:
        os._exit = end


def called(name: str, inputs: str) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The function `module:function` and its arguments; raises `UsageError` for what is not there.

    The module is imported, with the current folder on the path, and the arguments are evaluated
    among its names.
    """
    where, _, attribute = name.partition(":")
    if not where or not attribute:
        raise UsageError(f"{name}: write MODULE:FUNCTION or FILE.py:FUNCTION, such as model.py:f.")
    names = _names(where)
    first, *rest = attribute.split(".")
    if first not in names:
        raise UsageError(f"{where} has no {first}.")
    try:
        function = reduce(getattr, rest, names[first])
    except AttributeError as error:
        raise UsageError(f"{where} has no {attribute}: {error}.") from error
    import torch

    def given(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    try:
        args, kwargs = eval(f"__given({inputs})", {"torch": torch, **names, "__given": given})
    except Exception as error:  # whatever the user's own expression raises
        raise UsageError(f"--inputs {inputs!r}: {describe_error(error)}.") from error
    _check(name, function, args, kwargs)
    return function, args, kwargs


def _check(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise `UsageError` where the call cannot be made at all."""
    if isinstance(function, type) or not callable(function):
        kind = "a class" if isinstance(function, type) else type(function).__name__
        raise UsageError(f"{name} is {kind}: name a function, or a module that was made.")
    try:
        signature = signature_of(getattr(function, "forward", function))
    except (TypeError, ValueError):  # a builtin
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise UsageError(
            f"{name} takes {signature}: {error}. Pass its arguments with --inputs."
        ) from error


def _names(where: str) -> dict[str, Any]:
    """The names of a module or of a file, which runs; what lies beside it can be imported."""
    is_file = where.endswith(".py")
    if is_file and not Path(where).exists():
        raise UsageError(f"There is no file {where}.")
    folder = str(Path(where).resolve().parent if is_file else Path.cwd())
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(where) if is_file else vars(importlib.import_module(where))
    except Exception as error:  # whatever the user's own module raises
        if isinstance(error, ModuleNotFoundError) and error.name in _parts(where):
            raise UsageError(f"There is no module {where}: {error}.") from error
        raise UsageError(f"{where} cannot be imported: {describe_error(error)}.") from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _parts(module: str) -> tuple[str, ...]:
    """A module and the packages that it is in."""
    names = module.split(".")
    return tuple(".".join(names[:end]) for end in range(1, len(names) + 1))
