"""Keys of teams: who has signed a manifest, and which keys this user trusts."""

from __future__ import annotations

import builtins
import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import workbench as wb
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.manifest.package_manifest import PackageManifest
from workbench.artifacts.trust.team_keys import read_private_key, read_public_key
from workbench.artifacts.trust.team_signature import sign_by_key
from workbench.artifacts.trust.trust import TrustStore, check_trust, trust_key

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER = Ed25519PrivateKey.from_private_bytes(b"x" * 32)
MANIFESTS = (Manifest(contract={"a": 1}), PackageManifest("root", ()))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrustStore:
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(tmp_path / "data"))
    return TrustStore.of_user()


def pem(key: Any, path: Path, password: str | None = None) -> Path:
    """A private key as openssl writes it."""
    hidden = (
        serialization.BestAvailableEncryption(password.encode())
        if password
        else serialization.NoEncryption()
    )
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)
    )
    return path


def public_pem(key: Any, path: Path) -> Path:
    path.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return path


def check(manifest: Any, store: TrustStore) -> None:
    check_trust("m.aot", manifest.digest, trust=False, store=store, manifest=manifest)


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_trusted_key_opens_what_it_has_signed(manifest: Any, store: TrustStore) -> None:
    signed = sign_by_key(manifest, KEY)
    assert signed.digest == manifest.digest
    with pytest.raises(wb.TrustError, match="is signed by an unknown key"):
        check(signed, store)
    trust_key(KEY.public_key(), name="release")
    check(signed, store)
    assert store.standing(signed.digest, signed) == "signed by team key release"
    with pytest.raises(wb.TrustError, match="is not signed"):
        check(manifest, store)


def test_another_key_and_a_changed_manifest_are_refused(store: TrustStore) -> None:
    trust_key(KEY.public_key())
    signed = sign_by_key(MANIFESTS[0], KEY)
    changed = replace(signed, target="h100")
    forged = replace(signed, signatures=(replace(signed.signatures[0], key="0" * 32),))
    for manifest in (sign_by_key(MANIFESTS[0], OTHER), changed, forged):
        with pytest.raises(wb.TrustError, match="is signed by an unknown key"):
            check(manifest, store)


def test_a_signature_that_claims_the_key_but_is_of_another(store: TrustStore) -> None:
    trust_key(KEY.public_key())
    mine, theirs = (sign_by_key(MANIFESTS[0], key).signatures[0] for key in (KEY, OTHER))
    check(replace(MANIFESTS[0], signatures=(theirs, mine)), store)
    lie = replace(MANIFESTS[0], signatures=(replace(theirs, key=mine.key),))
    with pytest.raises(wb.TrustError, match="is signed by an unknown key"):
        check(lie, store)


@pytest.mark.parametrize(
    "forged",
    [
        {"value": ""},
        {"value": "zz" * 64},
        {"value": "ä" * 128},
        {"value": "\ud800"},
        {"value": 7},
        {"value": ["00"]},
        {"value": None},
        {"key": {"id": 1}},
        {"kind": ["ed25519"]},
        {"kind": "hmac-sha256"},
        {"kind": "hmac-sha256", "value": "ä"},
        {"kind": "rsa"},
    ],
)
def test_no_forged_signature_opens_a_file_or_breaks_the_check(
    forged: dict[str, Any], store: TrustStore
) -> None:
    store.make_key()
    trust_key(KEY.public_key())
    signed = sign_by_key(MANIFESTS[0], KEY)
    bad = replace(signed, signatures=(replace(signed.signatures[0], **forged),))
    with pytest.raises(wb.TrustError, match="is signed by an unknown key"):
        check(bad, store)


def test_a_long_list_of_signatures_keeps_nobody_busy(store: TrustStore) -> None:
    trust_key(KEY.public_key())
    right = sign_by_key(MANIFESTS[0], KEY).signatures[0]
    wrong = replace(right, value="00" * 64)
    for count, opens in ((63, True), (64, False), (50_000, False)):
        manifest = replace(MANIFESTS[0], signatures=(*[wrong] * count, right))
        assert (store.team_signer(manifest) is not None) == opens


def test_signing_again_replaces_the_signature_and_keeps_those_of_others(store: TrustStore) -> None:
    signed = store.sign(sign_by_key(sign_by_key(MANIFESTS[0], OTHER), KEY))
    again = sign_by_key(signed, KEY)
    assert len(again.signatures) == 3
    assert store.signed_by_user(again)


def test_a_revoked_key_opens_nothing_and_is_named(store: TrustStore) -> None:
    signed = sign_by_key(MANIFESTS[0], KEY)
    trust_key(KEY.public_key(), name="release")
    trust_key("release", revoke=True)
    with pytest.raises(wb.TrustError, match="is signed by revoked team key release"):
        check(signed, store)
    trust_key(KEY.public_key())
    check(signed, store)
    trust_key(OTHER.public_key(), revoke=True)  # one that was never trusted
    assert [key.revoked for key in store.team_keys.all()] == [False, True]
    check(sign_by_key(signed, OTHER), store)  # the other signature still counts


def test_a_public_key_may_be_a_file_its_text_an_object_or_a_word(
    tmp_path: Path, store: TrustStore
) -> None:
    file = public_pem(KEY, tmp_path / "team.pub.pem")
    word = trust_key(file)
    assert word == f"ed25519:{KEY.public_key().public_bytes_raw().hex()}"
    forms = (str(file), file.read_text(), file.read_bytes(), KEY.public_key(), word)
    assert {read_public_key(form).public for form in forms} == {read_public_key(file).public}
    assert [key.name for key in store.team_keys.all()] == ["team"]
    assert stat.S_IMODE(store.team_keys.file.stat().st_mode) == 0o600


def test_two_keys_of_one_name_ask_for_another(tmp_path: Path, store: TrustStore) -> None:
    trust_key(KEY.public_key(), name="team")
    with pytest.raises(wb.UsageError, match="Another key already has the name 'team'"):
        trust_key(public_pem(OTHER, tmp_path / "team.pem"))
    trust_key(tmp_path / "team.pem", name="their team")
    assert [key.name for key in store.team_keys.all()] == ["team", "their team"]


def test_what_is_no_key_is_named(tmp_path: Path, store: TrustStore) -> None:
    private = pem(KEY, tmp_path / "team.pem")
    other_kind = pem(X25519PrivateKey.generate(), tmp_path / "x.pem")
    locked = pem(KEY, tmp_path / "locked.pem", password="secret")
    (tmp_path / "text").write_text("hello")
    for wrong, sentence in (
        (private, "This is a private key"),
        (tmp_path / "none.pem", "Cannot read the key .*No such file"),
        (tmp_path / "text", "not a public key in PEM form"),
        ("ed25519:12", "64 hexadecimal digits"),
        (public_pem(X25519PrivateKey.generate(), tmp_path / "y.pem"), "need an ed25519 public key"),
        (7, "not a int"),
    ):
        with pytest.raises(wb.UsageError, match=sentence):
            trust_key(wrong)
    for wrong, sentence in (
        (other_kind, "needs an ed25519 private key"),
        (locked, "no readable private key in PEM form"),
        (tmp_path / "text", "openssl genpkey -algorithm ed25519"),
        (KEY.public_key(), "needs an ed25519 private key"),
    ):
        with pytest.raises(wb.UsageError, match=sentence):
            read_private_key(wrong)  # type: ignore[arg-type]
    assert isinstance(read_private_key(locked, "secret"), Ed25519PrivateKey)


def test_damaged_keys_of_the_user_are_not_taken_for_none(store: TrustStore) -> None:
    signed = sign_by_key(MANIFESTS[0], KEY)
    trust_key(KEY.public_key())
    for damage in ("", "[1]", "7", json.dumps([{"public": "x", "name": "", "revoked": False}])):
        store.team_keys.file.write_text(damage)
        with pytest.raises(wb.TrustError, match="Fix or remove the file"):
            check(signed, store)


def test_without_the_package_one_sentence_says_so(
    store: TrustStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust_key(KEY.public_key())
    signed = sign_by_key(MANIFESTS[0], KEY)
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(wb.TrustError, match="pip install cryptography"):
        check(signed, store)
    assert "pip install cryptography" in store.standing(signed.digest, signed)
    check(store.sign(signed), store)  # the user's own key needs no package
