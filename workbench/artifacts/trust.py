"""Who vouches for a file: signatures by this user's key, and digests that the user trusted."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from workbench.artifacts.manifest import Manifest, Signature
from workbench.artifacts.opening import open_any
from workbench.errors import ArtifactError, TrustError
from workbench.settings import Settings

HMAC = "hmac-sha256"
Trust = bool | str


@dataclass(frozen=True)
class TrustStore:
    """The signing key of one user and the digests that this user vouched for."""

    folder: Path

    @classmethod
    def of_user(cls) -> TrustStore:
        """The store of the user who runs this process."""
        return cls(Settings.from_environment().data_folder)

    @property
    def _key_file(self) -> Path:
        return self.folder / "key"

    @property
    def _digest_file(self) -> Path:
        return self.folder / "trusted.json"

    def key(self) -> bytes | None:
        """The signing key, or None when there is none yet."""
        try:
            found = self._key_file.read_bytes()
        except OSError:
            return None
        return found if len(found) >= 32 else None

    def make_key(self) -> bytes:
        """The signing key, made when there is none; raises OSError when it cannot be kept."""
        if found := self.key():
            return found
        self._make_folder()
        fresh = secrets.token_bytes(64)
        try:
            handle = os.open(self._key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return self._key_file.read_bytes()
        with os.fdopen(handle, "wb") as file:
            file.write(fresh)
        return fresh

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)

    def sign(self, manifest: Manifest) -> Manifest:
        """The manifest with this user's signature beside the others."""
        key = self.make_key()
        value = hmac.new(key, manifest.signed_bytes(), "sha256").hexdigest()
        mine = Signature(HMAC, key_name(key), value)
        others = tuple(s for s in manifest.signatures if (s.kind, s.key) != (HMAC, mine.key))
        return replace(manifest, signatures=(*others, mine))

    def sign_if_possible(self, manifest: Manifest) -> Manifest:
        """The manifest with this user's signature, or as it is where no key can be kept."""
        try:
            return self.sign(manifest)
        except OSError:
            return manifest

    def signed_by_user(self, manifest: Manifest) -> bool:
        """Whether one of the signatures is this user's and right."""
        key = self.key()
        if key is None:
            return False
        value = hmac.new(key, manifest.signed_bytes(), "sha256").hexdigest()
        return any(
            s.kind == HMAC and hmac.compare_digest(str(s.value), value) for s in manifest.signatures
        )

    def digests(self) -> frozenset[str]:
        """The digests that the user vouched for."""
        try:
            found = json.loads(self._digest_file.read_text())
        except (OSError, ValueError):
            return frozenset()
        return frozenset(str(item) for item in found) if isinstance(found, list) else frozenset()

    def vouch(self, digest: str) -> None:
        """Remember a digest; raises `ArtifactError` when it cannot be kept."""
        try:
            self._make_folder()
            fresh = self._digest_file.with_suffix(f".{secrets.token_hex(4)}")
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                json.dump(sorted({*self.digests(), digest}), file)
            os.replace(fresh, self._digest_file)
        except OSError as error:
            raise ArtifactError(
                f"Cannot remember that you trust {digest}: {error}. "
                f"Load with trust={digest!r} instead."
            ) from error


def key_name(key: bytes) -> str:
    """A short public name of a key."""
    return hashlib.sha256(b"key name" + key).hexdigest()[:16]


def trust(path: str | PathLike[str]) -> str:
    """Vouch for a file on this account and return its digest."""
    with open_any(path) as opened:
        TrustStore.of_user().vouch(opened.digest)
        return opened.digest


def check_trust(
    path: str,
    digest: str,
    *,
    trust: Trust,
    store: TrustStore,
    manifest: Manifest | None = None,
) -> None:
    """Raise `TrustError` unless somebody vouches for the file.

    `trust` is what the caller of load gave: False, True (warns), or the digest.
    """
    if isinstance(trust, str):
        _check_given(path, digest, trust)
        return
    if manifest is not None and store.signed_by_user(manifest):
        return
    if digest in store.digests():
        return
    if trust:
        warnings.warn(
            f"{path} runs code that nobody vouched for ({digest}). Load it with "
            f"trust={digest!r} to accept this file alone.",
            stacklevel=2,
        )
        return
    raise TrustError(_refusal(path, digest, () if manifest is None else manifest.signatures))


def _check_given(path: str, digest: str, given: str) -> None:
    if not given.startswith("sha256:"):
        raise TrustError(
            f"trust={given!r} is no digest: give trust={digest!r} after looking at it."
        )
    if not hmac.compare_digest(given.lower().encode(), digest.encode()):
        raise TrustError(
            f"{path} is another file than the one that you trust: it has {digest}, you gave "
            f"{given}. Look at it with wb.inspect({path!r})."
        )


def _refusal(path: str, digest: str, signatures: Sequence[Signature]) -> str:
    who = "is signed by somebody else" if signatures else "is not signed"
    return (
        f"{path} would run code and {who}. Nothing was executed.\n"
        f"Look at it first:      wb.inspect({path!r})\n"
        f"Then vouch for it:     wb.trust({path!r})\n"
        f"or accept it once:     wb.load(..., trust={digest!r})"
    )
