"""Other manifests: values of another type or size, and manifests made to fit changed members."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterator
from typing import Any

from tests.faults.zips import Archive

_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2**31, 2**63, 2**64, 10**30, 1.5, float("nan"), float("inf")),
    *("", "x", "..", "../../etc/passwd", "0", "9.9", "x" * 100_000, "\ud800", "\0", "é", "sm_90a"),
    *("2.²", "9" * 5000, "1." * 3000, "GLIBC_2.17", "-", "\x1b[2J", "%s{}", "sha256:", "a" * 64),
    *([], [[]], {}, {"": ""}, {"a": {"b": []}}, [1, 2, 3], ["x"] * 300, "sha256:" + "0" * 64),
)
_TEXTS = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"7",
    b'{"kind": "other"}',
    b"\xff\xfe{}",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"kind": "aot-workbench artifact", "schema": ' + b"9" * 100_000 + b"}",
    b'{"kind": "aot-workbench package", "schema": 1e400}',
)


def canonical(data: Any) -> bytes:
    """A manifest as the workbench itself writes it."""
    return json.dumps(data, sort_keys=True, ensure_ascii=True).encode()


def relist(archive: Archive) -> None:
    """Make the manifest list the members as they are now."""
    at = archive.index("manifest.json")
    if at is None:
        return
    info, content = archive.members[at]
    root = info.filename.removesuffix("extra/workbench/manifest.json").removesuffix("manifest.json")
    data = json.loads(content)
    data["members"] = {
        other.filename.removeprefix(root): {
            "sha256": hashlib.sha256(body).hexdigest(),
            "size": len(body),
        }
        for other, body in archive.members
        if other.filename != info.filename
    }
    archive.members[at] = (info, canonical(data))


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in the data with a key or index of it."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in pairs:
        yield data, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


def edited(rng: random.Random, content: bytes) -> bytes:
    """A manifest with a few values replaced, removed, added or exchanged."""
    if rng.random() < 0.08:
        return rng.choice(_TEXTS)
    data = json.loads(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        _edit(rng, data)
    if rng.random() < 0.1:
        return json.dumps(data).encode()
    return canonical(data)


def _edit(rng: random.Random, data: Any) -> None:
    places = list(_places(data))
    (owner, key), (other, place), kind = rng.choice(places), rng.choice(places), rng.random()
    if kind < 0.6:
        owner[key] = copy.deepcopy(rng.choice(_VALUES))
    elif kind < 0.7:
        del owner[key]
    elif kind < 0.8 and isinstance(owner, dict):
        owner[rng.choice(("", "x", "../x", "schema", "kind"))] = copy.deepcopy(rng.choice(_VALUES))
    elif isinstance(owner, list):
        owner.extend(copy.deepcopy(owner) * rng.choice((1, 40)))
    else:
        owner[key] = copy.deepcopy(other[place])


def other_manifest(rng: random.Random, archive: Archive) -> tuple[str, bytes]:
    """The file with an edited manifest, sealed by somebody who knows the format."""
    at = archive.index("manifest.json")
    assert at is not None
    info, content = archive.members[at]
    archive.members[at] = (info, edited(rng, content))
    return "manifest", archive.write(sealed=archive.sealed and rng.random() < 0.9)
