"""What a function's code says, as a hash that another process can compare with its own source."""

from __future__ import annotations

import hashlib
import inspect
import sys
import types
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path as File
from typing import Any

_HAS_DOCSTRING = 0x4000000  # inspect.CO_HAS_DOCSTRING, from Python 3.13 on


@lru_cache(maxsize=256)  # asked for in each call where a function was defined again
def digest(code: types.CodeType) -> str:
    """SHA-256 of what the code does: no line numbers, no file, no docstring."""
    return hashlib.sha256(repr(_content(code)).encode()).hexdigest()


def _content(code: types.CodeType) -> tuple[Any, ...]:
    constants = code.co_consts
    is_documented = bool(constants) and isinstance(constants[0], str)
    if sys.version_info >= (3, 13):
        is_documented = bool(code.co_flags & _HAS_DOCSTRING)
    shown = [_constant(value) for value in constants[1 if is_documented else 0 :]]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, tuple(shown), names, code.co_argcount, code.co_kwonlyargcount


def _constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return _content(value)
    if isinstance(value, frozenset):  # its order differs between processes
        return ("frozenset", sorted(repr(_constant(part)) for part in value))
    if isinstance(value, tuple):
        return tuple(map(_constant, value))
    return (type(value).__name__, repr(value))


def file_hash(path: str) -> str | None:
    """SHA-256 of a source file; None where there is none, as for code typed into a notebook."""
    try:
        return hashlib.sha256(File(path).read_bytes()).hexdigest()
    except OSError:
        return None


def in_source(name: str | None, unchanged: str | None) -> str | None:
    """The digest of `module:qualified.name` of a module that is not imported, from its source file.

    None where the whole file has the hash `unchanged`, or nothing was found.
    """
    module, _, qualified = (name or "").partition(":")
    file = _source_file(module) if qualified else None
    if file is None or (unchanged is not None and file_hash(file) == unchanged):
        return None
    found = _codes_in(File(file).read_bytes()).get(qualified)
    return None if found is None else digest(found)


def _source_file(module: str) -> str | None:
    """Where a module's source is, found without importing the packages that it lies in."""
    parts = module.split(".")
    places: Any = None
    spec = None
    for number in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:number]), places)
        if spec is None:
            return None
        places = spec.submodule_search_locations
    origin = None if spec is None else spec.origin
    return origin if origin is not None and origin.endswith(".py") else None


def codes_in_file(path: File) -> Iterator[tuple[str, types.CodeType]]:
    """Every code of a source file with its qualified name; none where it cannot be parsed."""
    return iter(_codes_in(path.read_bytes()).items())


@lru_cache(maxsize=32)
def _codes_in(source: bytes) -> Mapping[str, types.CodeType]:
    """Every code of a source by its qualified name; empty where it cannot be parsed."""
    try:
        whole = compile(source, "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}
    return {code.co_qualname: code for code in codes_inside(whole)}


def codes_inside(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of functions, lambdas and comprehensions that stand in a code, at any depth."""
    for inner in code.co_consts:
        if inspect.iscode(inner):
            yield inner
            yield from codes_inside(inner)
