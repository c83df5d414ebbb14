"""How data travels: JSON, gzip-compressed; in pages also as base64 text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

FAST, SMALL = 1, 9
"""Levels: 1 for messages (17 ms for 4 MB), 9 for what is saved."""


def pack(value: Any, level: int = FAST) -> bytes:
    """JSON of `value`, gzip-compressed; the same bytes for the same value."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), level, mtime=0)


def packed_text(content: bytes) -> str:
    """Bytes as text for a page."""
    return base64.b64encode(content).decode("ascii")


def short_hash(content: bytes) -> str:
    """A name for bytes that is the same in every run: 12 hex digits."""
    return hashlib.sha256(content).hexdigest()[:12]


@cache
def static_text(name: str) -> str:
    """A file of the built front end, or of what the pages need besides."""
    return files("workbench.views").joinpath("static", name).read_text(encoding="utf-8")


@cache
def bundle() -> tuple[str, str]:
    """The front end as base64 of gzip of JSON (`js`, `css`), and its hash."""
    parts: Mapping[str, str] = {
        "js": static_text("workbench.js"),
        "css": static_text("workbench.css"),
    }
    packed = pack(parts, SMALL)
    return packed_text(packed), short_hash(packed)
