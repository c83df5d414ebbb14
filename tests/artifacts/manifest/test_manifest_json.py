"""Manifests as JSON: only what has the right types gets in, and what a later release adds stays."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.artifacts import package_sample as sample
from workbench.artifacts.manifest.manifest import Manifest, Signature, replace_signatures
from workbench.artifacts.manifest.package_manifest import PackageManifest
from workbench.errors import ArtifactError

MANIFEST = sample.manifest()


def changed(*path: str | int, value: object) -> bytes:
    """The manifest's JSON with another value at a place."""
    data = json.loads(MANIFEST.to_bytes())
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(data, sort_keys=True).encode()


def test_what_was_written_is_read() -> None:
    assert PackageManifest.from_bytes(MANIFEST.to_bytes()) == MANIFEST
    assert Manifest.from_bytes(Manifest().to_bytes()) == Manifest()


@pytest.mark.parametrize(
    "content",
    [
        changed("models", 0, "library", value=7),
        changed("models", 0, "constants", 0, "size", value="7"),
        changed("models", 0, "constants", 0, "size", value=True),
        changed("models", 0, "constants", value={}),
        changed("models", 0, "outputs", 0, "shape", value=[None]),
        changed("models", 0, "contract", value=[]),
        changed("models", 0, "isa", value="avx2"),
        changed("models", value=None),
        changed("versions", value=[]),
        changed("versions", "triton", value=3.7),
        changed("members", value={"a": 1}),
        b"[" * 100_000,
        b'{"kind": "aot-workbench package", "schema": 1}',
    ],
)
def test_a_value_of_another_type_is_refused(content: bytes) -> None:
    with pytest.raises(ArtifactError, match="damaged"):
        PackageManifest.from_bytes(content)


@pytest.mark.parametrize("schema", [None, "1", 99])
def test_another_schema_is_refused(schema: object) -> None:
    with pytest.raises(ArtifactError, match="schema"):
        PackageManifest.from_bytes(changed("schema", value=schema))


def test_a_field_of_a_later_release_changes_neither_bytes_nor_digest() -> None:
    content = changed("models", 0, "novelty", value="unknown here")
    later = PackageManifest.from_bytes(content)
    assert later.models == MANIFEST.models
    assert later.to_bytes() == content
    assert later.digest != MANIFEST.digest
    signed = replace_signatures(later, [Signature("kind", "key", "value")])
    assert signed.digest == later.digest
    assert "unknown here" in signed.to_bytes().decode()
    assert PackageManifest.from_bytes(signed.to_bytes()) == signed


def test_a_field_that_an_earlier_release_did_not_write_keeps_its_default() -> None:
    data = json.loads(MANIFEST.to_bytes())
    del data["models"][0]["bucket"]
    content = json.dumps(data, sort_keys=True).encode()
    earlier = PackageManifest.from_bytes(content)
    assert earlier.models[0].bucket is None
    assert earlier.to_bytes() == content


def test_the_digest_covers_everything_but_the_signatures() -> None:
    assert replace(MANIFEST, root="other").digest != MANIFEST.digest
    assert replace_signatures(MANIFEST, [Signature("a", "b", "c")]).digest == MANIFEST.digest
