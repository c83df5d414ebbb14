"""How data is made for its travel: JSON, gzip-compressed; in pages also as base64 text."""

from __future__ import annotations

import base64
import gc
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, cast

FAST, SMALL = 1, 9
"""Levels: 1 for messages (17 ms for 4 MB), 9 for what is saved."""


Wire = TypeVar("Wire")


def convert_row(kind: type[Wire], row: object, /, **more: object) -> Wire:
    """A row of the report as a type of the wire: what is not in `more` are fields of its name."""
    values = {}
    for name in kind.__annotations__:
        value = more[name] if name in more else getattr(row, name)
        values[name] = list(value) if isinstance(value, tuple) else value
    return cast(Wire, values)


def shorten(value: float) -> float:
    """A figure for the front end, which rounds it: so many digits that it rounds as all of them do.

    One that was cut to a number of decimals before would be written otherwise than in a table.
    """
    return float(f"{value:.12g}")


@contextmanager
def no_collection() -> Iterator[None]:
    """Make lists by the ten thousand without a collection for every few thousand of them.

    Each full one walks all objects of torch: for a graph of 50,000 nodes they took two thirds of
    the time. What is made here is not garbage, so nothing is lost by waiting.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def pack(value: Any, level: int = FAST) -> bytes:
    """JSON of `value`, gzip-compressed; the same bytes for the same value."""
    return gzip.compress(_json(value), level, mtime=0)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


class Budget:
    """Bytes that are left for values packed one behind the other at level `SMALL`.

    Each packs better for what stands before it, as it will in the end.
    """

    def __init__(self, limit: int):
        self.left = limit
        self._packed = zlib.compressobj(SMALL)

    def take(self, value: Any) -> bool:
        """Whether a value still fits; what does is counted."""
        if self.left <= 0:
            return False
        trial = self._packed.copy()
        size = len(trial.compress(_json(value))) + len(trial.flush(zlib.Z_SYNC_FLUSH))
        if size > self.left:
            return False
        self.left -= size
        self._packed = trial
        return True


def pack_text(content: bytes) -> str:
    """Bytes as text for a page."""
    return base64.b64encode(content).decode("ascii")


def hash_bytes(content: bytes) -> str:
    """A name for bytes that is the same in every run: 12 hex digits."""
    return hashlib.sha256(content).hexdigest()[:12]


@cache
def read_static_text(name: str) -> str:
    """A file of the built front end, or of what the pages need besides."""
    return files("workbench.views").joinpath("static", name).read_text(encoding="utf-8")


@cache
def read_bundle_bytes() -> bytes:
    """The front end as gzip of JSON (`js`, `css`)."""
    return pack({kind: read_static_text(f"workbench.{kind}") for kind in ("js", "css")}, SMALL)


@cache
def bundle() -> tuple[str, str]:
    """The front end as base64 text, and its hash."""
    packed = read_bundle_bytes()
    return pack_text(packed), hash_bytes(packed)
