"""Hashes that another process compares: what a function's code says, what no file shows."""

from __future__ import annotations

import hashlib
import inspect
import secrets
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
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
    comparable = [_constant(value) for value in constants[1 if is_documented else 0 :]]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, tuple(comparable), names, code.co_argcount, code.co_kwonlyargcount


def _constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return _content(value)
    if isinstance(value, frozenset):  # its order differs between processes
        return ("frozenset", sorted(repr(_constant(part)) for part in value))
    if isinstance(value, tuple):
        return tuple(map(_constant, value))
    return (type(value).__name__, repr(value))


def hash_file(path: str) -> str | None:
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
    if file is None or (unchanged is not None and hash_file(file) == unchanged):
        return None
    code = _codes_in(File(file).read_bytes()).get(qualified)
    return None if code is None else digest(code)


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


def compile_codes_in_file(path: File) -> Iterator[tuple[str, types.CodeType]]:
    """Every code of a source file with its qualified name; none where it cannot be parsed."""
    return iter(_codes_in(path.read_bytes()).items())


@lru_cache(maxsize=32)
def _codes_in(source: bytes) -> Mapping[str, types.CodeType]:
    """Every code of a source by its qualified name; empty where it cannot be parsed."""
    try:
        whole = compile(source, "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}
    return {code.co_qualname: code for code in find_codes_inside(whole)}


def find_codes_inside(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of functions, lambdas and comprehensions that stand in a code, at any depth."""
    for inner in code.co_consts:
        if inspect.iscode(inner):
            yield inner
            yield from find_codes_inside(inner)


class CodeOf:
    """A function's code by its hash; the object that was seen to have it is not hashed again."""

    kind = "code"

    def __init__(self, rows: str) -> None:
        self.rows = rows
        self._seen: types.CodeType | None = None

    def is_of(self, code: types.CodeType) -> bool:
        """Whether a code says the same."""
        if code is self._seen:
            return True
        if digest(code) != self.rows:
            return False
        self._seen = code
        return True


_ROUNDS = 20_000  # of the hash, some 5 ms: short texts take longer to guess


HIDDEN = (str, bytes, int, float, complex, tuple, frozenset, set)
"""The types of values that can be hidden."""


class Hidden:
    """A value that no file shows, by a salted hash; the value that was seen to be it is kept."""

    kind = "hidden"

    def __init__(self, rows: Sequence[str]) -> None:
        self.rows = [*rows]  # the salt and the hash
        self._seen: Any = None

    @classmethod
    def of(cls, value: Any) -> Hidden:
        """What hides a constant."""
        salt = secrets.token_hex(16)
        return cls((salt, _hashed(value, salt)))

    def is_of(self, value: Any) -> bool:
        """Whether a value is the one that is hidden."""
        if type(value) is type(self._seen) and value == self._seen:
            return True
        salt, hashed = self.rows
        if not isinstance(value, HIDDEN) or _hashed(value, salt) != hashed:
            return False
        self._seen = value.copy() if type(value) is set else value
        return True


def _hashed(value: Any, salt: str) -> str:
    content = sorted(map(repr, value)) if isinstance(value, set | frozenset) else repr(value)
    text = f"{type(value).__name__}: {content}".encode(errors="surrogatepass")
    return hashlib.pbkdf2_hmac("sha256", text, bytes.fromhex(salt), _ROUNDS).hex()
