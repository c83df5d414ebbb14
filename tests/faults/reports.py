"""Reports that are hard to unpack or hold what no report holds."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

from tests.faults.manifests import edited
from workbench.artifacts.archive.package_container import decode_report, encode_report

_GZIP = 16 + zlib.MAX_WBITS


def _packed(*parts: bytes) -> bytes:
    packers = [zlib.compressobj(1, zlib.DEFLATED, _GZIP) for _ in parts]
    return b"".join(p.compress(part) + p.flush() for p, part in zip(packers, parts, strict=True))


@cache
def _bomb(first: bytes) -> bytes:
    """Three quarters of a GiB in three quarters of a MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    parts = [packer.compress(first), *(packer.compress(b"0" * (1 << 20)) for _ in range(768))]
    return b"".join([*parts, packer.flush()])


def _header(content: bytes) -> tuple[bytes, bytes]:
    unpacker = zlib.decompressobj(_GZIP)
    return unpacker.decompress(content), unpacker.unused_data


def _edited_header(rng: random.Random, content: bytes) -> bytes:
    header, rest = _header(content)
    return _packed(edited(rng, header)) + rest


def _edited_part(rng: random.Random, content: bytes) -> bytes:
    """Another value in one of the tables."""
    header, rest = _header(content)
    data: dict[str, Any] = json.loads(header)
    parts, at = {}, 0
    for name, size in data["sizes"].items():
        parts[name] = rest[at : at + size]
        at += size
    name = rng.choice([*parts])
    part = _packed(edited(rng, zlib.decompress(parts[name], _GZIP)))
    parts[name], data["sizes"][name] = part, len(part)
    return _packed(json.dumps(data).encode()) + b"".join(parts.values())


_REPORTS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    lambda rng, content: _bomb(b""),
    lambda rng, content: _bomb(b'{"schema": '),
    lambda rng, content: _packed(b"[" * 200_000),
    lambda rng, content: _packed(b"7"),
    lambda rng, content: content[: len(content) // 2],
    *(_edited_header, _edited_part, _edited_part, _edited_part),
)


def other_report(rng: random.Random, content: bytes, *, in_package: bool) -> bytes:
    """A member in place of a report's."""
    if not in_package:
        return rng.choice(_REPORTS)(rng, content)
    if rng.random() < 0.1:
        return b"no base 64!"
    return encode_report(rng.choice(_REPORTS)(rng, decode_report(content)))
