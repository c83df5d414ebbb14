"""A policy that demands a signature, or forbids trust=True: it beats what the caller says."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import workbench as wb
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.trust.team_signature import sign_by_key
from workbench.artifacts.trust.trust import TrustStore, check_trust, trust_key

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER = Ed25519PrivateKey.from_private_bytes(b"x" * 32)
MANIFEST = Manifest(contract={"a": 1})


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrustStore:
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(tmp_path))
    return TrustStore.of_user()


def word(key: Ed25519PrivateKey) -> str:
    return f"ed25519:{key.public_key().public_bytes_raw().hex()}"


def write(store: TrustStore, text: str) -> None:
    (store.folder / "policy.toml").write_text(text)


def check(store: TrustStore, manifest: Manifest, trust: Any = False) -> None:
    check_trust("m.aot", manifest.digest, trust=trust, store=store, manifest=manifest)


def test_only_a_signature_by_a_named_key_opens_a_file(store: TrustStore) -> None:
    write(store, f'signed_by = ["{word(KEY)}"]')
    check(store, sign_by_key(MANIFEST, KEY))  # the policy names it: trust_key is not needed
    store.vouch(MANIFEST.digest)
    trust_key(OTHER.public_key())
    others = sign_by_key(store.sign(MANIFEST), OTHER)
    for manifest in (MANIFEST, others):
        for trust in (False, True, MANIFEST.digest):
            with pytest.raises(wb.TrustError, match="not signed by a key in the policy"):
                check(store, manifest, trust)


def test_a_revoked_key_does_not_satisfy_the_policy(store: TrustStore) -> None:
    write(store, f'signed_by = ["{word(KEY)}"]')
    trust_key(KEY.public_key(), name="release")
    trust_key("release", revoke=True)
    with pytest.raises(wb.TrustError, match=r"\(release \(revoked\)\)"):
        check(store, sign_by_key(MANIFEST, KEY))


def test_the_refusal_names_keys_as_the_user_does(store: TrustStore) -> None:
    write(store, f'signed_by = ["{word(KEY)}", "{word(OTHER)}"]')
    trust_key(KEY.public_key(), name="release")
    with pytest.raises(wb.TrustError, match=r"\(release, [0-9a-f]{32}\)"):
        check(store, MANIFEST)


def test_a_policy_may_name_the_user_and_a_file_beside_it(store: TrustStore) -> None:
    (store.folder / "team.pem").write_bytes(
        KEY.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    write(store, 'signed_by = ["user", "team.pem"]')
    check(store, store.sign(MANIFEST))
    check(store, sign_by_key(MANIFEST, KEY))
    with pytest.raises(wb.TrustError, match=r"\(your own, team\)"):
        check(store, MANIFEST)


def test_a_given_digest_still_has_to_be_that_of_the_file(store: TrustStore) -> None:
    write(store, 'signed_by = ["user"]')
    check(store, store.sign(MANIFEST), MANIFEST.digest)
    with pytest.raises(wb.TrustError, match="is not the file that you trust"):
        check(store, store.sign(MANIFEST), f"sha256:{'0' * 64}")


def test_a_file_of_torch_cannot_bear_the_signature(store: TrustStore) -> None:
    write(store, 'signed_by = ["user"]')
    with pytest.raises(wb.TrustError, match="was written by torch without a signature"):
        check_trust("m.pt", "sha256:1", trust=True, store=store)


def test_trust_true_can_be_forbidden(store: TrustStore) -> None:
    write(store, "forbid_trust_true = true")
    with pytest.raises(wb.TrustError, match=r"The policy .*policy\.toml forbids trust=True"):
        check(store, MANIFEST, trust=True)
    check(store, MANIFEST, trust=MANIFEST.digest)
    check(store, store.sign(MANIFEST), trust=True)  # trusted without it
    write(store, "forbid_trust_true = false")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(store, MANIFEST, trust=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("signed_by = [", "cannot be read"),
        ('singed_by = ["user"]', "unknown entry 'singed_by'"),
        ('signed_by = "user"', "signed_by must be a list of keys"),
        ("signed_by = [1]", "signed_by must be a list of keys"),
        ('signed_by = ["none.pem"]', "the key 'none.pem': Cannot read the key"),
        ('signed_by = ["ed25519:1"]', "64 hexadecimal digits"),
        ('forbid_trust_true = "yes"', "forbid_trust_true must be true or false"),
        ("signed_by = []", "not signed by a key in the policy .* \\(none\\)"),
    ],
)
def test_a_policy_with_a_mistake_lets_nothing_through(
    text: str, sentence: str, store: TrustStore
) -> None:
    write(store, text)
    for trust in (False, True, MANIFEST.digest):
        with pytest.raises(wb.TrustError, match=sentence):
            check(store, store.sign(MANIFEST), trust)


def _dangling(file: Path) -> None:
    file.symlink_to("team/policy.toml")


def _dangling_folder(file: Path) -> None:
    file.parent.rmdir()
    file.parent.symlink_to("not/mounted")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_dangling, "the link .*policy.toml points nowhere"),
        (_dangling_folder, "the link .*data points nowhere"),
        (lambda file: os.mkfifo(file), "a pipe or a device"),
        (lambda file: file.mkdir(), "Is a directory"),
        (lambda file: file.symlink_to("policy.toml"), "Too many levels"),
        (lambda file: file.write_text("a = " + "[" * 100_000), "its values are nested too deeply"),
        (
            lambda file: file.write_text("a = " + "{a = " * 50_000),
            "its values are nested too deeply",
        ),
        (lambda file: file.write_text("a." * 100_000 + "a = 1"), "more than 1,000 dots"),
        (lambda file: file.write_text("#" * 300_000 + "\nforbid_trust_true = 1"), "the limit is"),
        (lambda file: file.write_bytes(b"signed_by = []\xff"), "can't decode"),
    ],
)
def test_a_policy_that_cannot_be_read_is_closed(
    make: Callable[[Path], object],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(folder))
    make(folder / "policy.toml")
    for trust in (False, True, MANIFEST.digest):
        with pytest.raises(wb.TrustError, match=words):
            check(TrustStore.of_user(), MANIFEST, trust)


def test_a_policy_elsewhere_is_named_by_a_variable(
    store: TrustStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AOT_WORKBENCH_POLICY", str(tmp_path / "team" / "policy.toml"))
    store = TrustStore.of_user()
    with pytest.raises(wb.TrustError, match="set in AOT_WORKBENCH_POLICY, does not exist"):
        check(store, store.sign(MANIFEST))
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "policy.toml").write_text(f'signed_by = ["{word(KEY)}"]')
    check(store, sign_by_key(MANIFEST, KEY))
    with pytest.raises(wb.TrustError, match="team/policy"):
        check(store, store.sign(MANIFEST))
