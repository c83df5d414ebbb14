"""Who vouches for a file."""

from __future__ import annotations

import stat
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.torchs_file import write_like_torch
from workbench.artifacts.archive import aot_container
from workbench.artifacts.manifest.manifest import Manifest, Signature
from workbench.artifacts.trust import trust
from workbench.artifacts.trust.trust import TrustStore, check_trust
from workbench.errors import ArtifactError, TrustError, UsageError


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "data")


def manifest() -> Manifest:
    return aot_container.with_members(Manifest(contract={"a": 1}), {"payload": b"x"})


def test_the_key_is_made_once_and_is_private(store: TrustStore) -> None:
    key = store.make_key()
    assert store.make_key() == key
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((store.folder / "key").stat().st_mode) == 0o600


def test_a_signature_covers_everything_but_the_signatures(store: TrustStore) -> None:
    signed = store.sign(manifest())
    assert store.signed_by_user(signed)
    assert signed.digest == manifest().digest
    other = Manifest(contract={"a": 2}, members=signed.members, signatures=signed.signatures)
    assert not store.signed_by_user(other)
    assert not TrustStore(store.folder / "other").signed_by_user(signed)


def test_signing_keeps_the_signatures_of_others(store: TrustStore) -> None:
    theirs = Signature("hmac-sha256", "somebody", "00")
    signed = store.sign(store.sign(Manifest(signatures=(theirs,))))
    assert len(signed.signatures) == 2
    assert signed.signatures[0] == theirs


def test_where_no_key_can_be_kept_a_file_is_saved_unsigned(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    nowhere = TrustStore(tmp_path / "file" / "data")
    assert nowhere.sign_if_possible(manifest()) == manifest()
    assert not nowhere.signed_by_user(manifest())
    assert not nowhere.digests()
    with pytest.raises(ArtifactError, match="Load with trust='sha256:"):
        nowhere.vouch("sha256:00")


def test_a_digest_is_trusted_after_vouching(store: TrustStore) -> None:
    digest = manifest().digest
    with pytest.raises(TrustError, match="is not signed"):
        check_trust("m.aot", digest, trust=False, store=store, manifest=manifest())
    store.vouch(digest)
    store.vouch("sha256:other")
    check_trust("m.aot", digest, trust=False, store=store, manifest=manifest())
    assert stat.S_IMODE((store.folder / "trusted.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("trust", [1, 3, [True], b"sha256:1"])
def test_what_is_neither_true_nor_a_digest_trusts_nothing(store: TrustStore, trust: Any) -> None:
    with pytest.raises(UsageError, match="expected True, False or a digest"):
        check_trust("m.aot", "sha256:1", trust=trust, store=store)


def test_a_given_digest_trusts_that_file_alone(store: TrustStore) -> None:
    digest = manifest().digest
    check_trust("m.aot", digest, trust=digest, store=store)
    with pytest.raises(TrustError, match="is not the file that you trust"):
        check_trust("m.aot", digest, trust=f"sha256:{'0' * 64}", store=store)
    with pytest.raises(TrustError, match="is not a digest"):
        check_trust("m.aot", digest, trust="yes", store=store)


def test_trust_true_warns_once(store: TrustStore) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_trust("m.aot", "sha256:1", trust=True, store=store)
    assert len(caught) == 1
    assert "nobody vouched for" in str(caught[0].message)


def test_the_user_vouches_for_any_kind_of_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(tmp_path / "data"))
    aot_container.write_artifact(tmp_path / "m.aot", manifest(), {"payload": b"x"})
    (tmp_path / "torch.bin").write_bytes(write_like_torch())
    digests = {trust.trust(tmp_path / "m.aot"), trust.trust(tmp_path / "torch.bin")}
    assert TrustStore.of_user().digests() == digests
