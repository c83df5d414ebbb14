"""Damage to the bytes of any file."""

from __future__ import annotations

import random
from collections.abc import Callable


def _cut(rng: random.Random, content: bytes, at: int) -> bytes:
    return content[:at]


def _flip_bit(rng: random.Random, content: bytes, at: int) -> bytes:
    changed = bytearray(content)
    changed[at] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _set_bytes(rng: random.Random, content: bytes, at: int) -> bytes:
    changed = bytearray(content)
    for place in range(at, min(at + rng.choice((1, 2, 4, 8)), len(content))):
        changed[place] = rng.choice((0, 0xFF, 0x7F, 0x80, rng.randrange(256)))
    return bytes(changed)


def _zero_block(rng: random.Random, content: bytes, at: int) -> bytes:
    size = min(rng.choice((16, 512, 4096)), len(content) - at)
    return content[:at] + bytes(size) + content[at + size :]


def _copy_block(rng: random.Random, content: bytes, at: int) -> bytes:
    size = rng.choice((4, 64, 1024))
    source = rng.randrange(len(content))
    block = content[source : source + size]
    return content[:at] + block + content[at + len(block) :]


def _insert(rng: random.Random, content: bytes, at: int) -> bytes:
    return content[:at] + rng.randbytes(rng.choice((1, 2, 30, 70_000))) + content[at:]


def _remove(rng: random.Random, content: bytes, at: int) -> bytes:
    return content[:at] + content[at + rng.choice((1, 2, 30, 5000)) :]


def _append(rng: random.Random, content: bytes, at: int) -> bytes:
    return content + rng.choice((b"\0", b".", b"PK\5\6" + bytes(18), content[at:]))


def _prepend(rng: random.Random, content: bytes, at: int) -> bytes:
    return rng.choice((b"\0", b"PK", b"\x80\x04", b"PT2AOT\x01", content[:at])) + content


def _zip_end(rng: random.Random, content: bytes, at: int) -> bytes:
    """A lie in the last bytes, where a zip file says how many members it has and where."""
    place = max(len(content) - rng.randrange(1, 120), 0)
    return _set_bytes(rng, content, place)


BYTEWISE: tuple[Callable[[random.Random, bytes, int], bytes], ...] = (
    *(_cut, _flip_bit, _set_bytes, _zero_block, _copy_block),
    *(_insert, _remove, _append, _prepend, _zip_end),
)


def damaged(rng: random.Random, content: bytes, spots: tuple[range, ...]) -> tuple[str, bytes]:
    """The name of a damage and the damaged content; `spots` are places that matter most."""
    change = rng.choice(BYTEWISE)
    chosen = rng.choice(spots) if spots and rng.random() < 0.7 else range(len(content))
    at = rng.choice(chosen or range(len(content)))
    return change.__name__.strip("_"), change(rng, content, min(at, len(content) - 1))
