"""The ed25519 keys of teams: read, remembered for one user, used to sign and to check."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

from workbench.artifacts.manifest.manifest import Signature
from workbench.artifacts.trust.kept_files import check_folder, lock_folder, write_whole
from workbench.errors import ArtifactError, TrustError, UsageError
from workbench.file_path import check_file_path
from workbench.plain_data import parse_json, read_file
from workbench.typed_data import read_value

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ED25519 = "ed25519"
_PREFIX = f"{ED25519}:"
_KEY_FILE_LIMIT = 1 << 16
_KNOWN_LIMIT = 16 << 20  # 100,000 keys
_PRIME = 2**255 - 19
_Y8 = 0x5FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_LOW_ORDER = (0, 1, _PRIME - 1, _Y8, _PRIME - _Y8)
"""The y of all points of order 1, 2, 4 and 8 on the curve (RFC 8032, section 5.1.7)."""
_SIGNATURES_LIMIT = 64  # no file needs more: a longer list is an attack on the reader's time


class Signed(Protocol):
    """The manifest of a file of either kind."""

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures over `signed_bytes`."""

    def signed_bytes(self) -> bytes:
        """The bytes that a signature covers."""


@dataclass(frozen=True)
class TeamKey:
    """A public key, 32 bytes in hex, under the name that the user gave it."""

    public: str
    name: str = ""
    revoked: bool = False

    @property
    def id(self) -> str:
        """A short name that follows from the key; signatures hold it."""
        return hashlib.sha256(b"ed25519 key" + bytes.fromhex(self.public)).hexdigest()[:32]

    @property
    def title(self) -> str:
        """The user's name of the key, or its id."""
        return self.name or self.id

    @property
    def text(self) -> str:
        """The whole key as one word, `ed25519:…`, which a policy file may hold."""
        return _PREFIX + self.public

    @property
    def is_weak(self) -> bool:
        """Whether it is a point of low order: of those, some signatures are right for any text."""
        y = int.from_bytes(bytes.fromhex(self.public), "little") & ((1 << 255) - 1)  # no sign of x
        return y % _PRIME in _LOW_ORDER

    def has_signed(self, manifest: Signed) -> bool:
        """Whether one of the signatures is of this key and right.

        Raises `TrustError` where the package cryptography is missing.
        """
        if self.is_weak:
            return False
        mine = [s for s in list_team_signatures(manifest) if s.key == self.id]
        return bool(mine) and _any_right(self.public, mine, manifest.signed_bytes())


def _any_right(public: str, signatures: Iterable[Signature], content: bytes) -> bool:
    from_bytes = _ed25519().Ed25519PublicKey.from_public_bytes
    from cryptography.exceptions import InvalidSignature

    key = from_bytes(bytes.fromhex(public))
    for signature in signatures:
        try:
            key.verify(bytes.fromhex(signature.value), content)
        except (InvalidSignature, ValueError):
            continue
        return True
    return False


def list_team_signatures(manifest: Signed) -> Iterator[Signature]:
    """The well-formed signatures by keys of teams, right or wrong."""
    for signature in manifest.signatures[:_SIGNATURES_LIMIT]:
        texts = (signature.kind, signature.key, signature.value)
        if all(isinstance(text, str) for text in texts) and signature.kind == ED25519:
            yield signature


def read_private_key(
    key: str | PathLike[str] | Ed25519PrivateKey, password: str | None = None
) -> Ed25519PrivateKey:
    """A private key from a PEM file, or the object itself; raises `UsageError` for others."""
    kind = _ed25519().Ed25519PrivateKey
    secret: Any = _private_pem(key, password) if isinstance(key, (str, PathLike)) else key
    if not isinstance(secret, kind):
        raise UsageError(
            f"Signing needs an ed25519 private key, but this is a {type(secret).__name__}. Make "
            "one with: openssl genpkey -algorithm ed25519 -out team.pem"
        )
    return cast("Ed25519PrivateKey", secret)


def _private_pem(path: str | PathLike[str], password: str | None) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = _read(path)
    try:
        return load_pem_private_key(content, password.encode() if password else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(
            f"{os.fspath(path)} has no readable private key in PEM form ({error}). Make one with: "
            "openssl genpkey -algorithm ed25519 -out team.pem"
        ) from error


def read_public_key(key: Any) -> TeamKey:
    """A public key from a PEM file, its text, `ed25519:…` or an object; raises `UsageError`."""
    public_key = _public_key(key)
    if public_key.is_weak:
        raise UsageError(
            f"{public_key.text} is not a safe key: it is a point of low order, for which anyone "
            "can sign. Make a key with: openssl genpkey -algorithm ed25519 -out team.pem"
        )
    return public_key


def _public_key(key: Any) -> TeamKey:
    if isinstance(key, str) and key.startswith(_PREFIX):
        return TeamKey(_hex(key))
    if isinstance(key, (str, bytes, PathLike)):
        is_text = not isinstance(key, PathLike) and b"-----BEGIN" in _as_bytes(key)
        content = _as_bytes(key) if is_text else _read(key)  # type: ignore[arg-type]
        return _from_object(_from_pem(content), "" if is_text else _name_of(key))
    return _from_object(key, "")


def _from_pem(content: bytes) -> Any:
    _ed25519()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if b"PRIVATE KEY" in content:
        raise UsageError(
            "This is a private key, which only its owner should have. Pass the public one: openssl "
            "pkey -in team.pem -pubout -out team.pub.pem"
        )
    try:
        return load_pem_public_key(content)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(
            f"This is not a public key in PEM form ({error}). Write it with: openssl pkey -in "
            "team.pem -pubout -out team.pub.pem"
        ) from error


def _from_object(key: Any, name: str) -> TeamKey:
    if not isinstance(key, _ed25519().Ed25519PublicKey):
        raise UsageError(f"Signatures need an ed25519 public key, not a {type(key).__name__}.")
    return TeamKey(key.public_bytes_raw().hex(), name)


def _name_of(path: str | bytes | PathLike[str]) -> str:
    return Path(os.fsdecode(path)).name.partition(".")[0]


def _hex(word: str) -> str:
    digits = word.removeprefix(_PREFIX).lower()
    if len(digits) != 64 or not set(digits) <= set("0123456789abcdef"):
        raise UsageError(
            f"{word!r} is not a key: 'ed25519:' must be followed by 64 hexadecimal digits."
        )
    return digits


def _as_bytes(key: str | bytes) -> bytes:
    return key.encode("utf-8", "replace") if isinstance(key, str) else key


def _read(path: str | bytes | PathLike[str]) -> bytes:
    name = check_file_path(path)
    try:
        return read_file(name, _KEY_FILE_LIMIT)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"Cannot read the key {name}: {reason}.") from error


def _ed25519() -> ModuleType:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise TrustError(
            "Team signatures need the package cryptography: pip install cryptography."
        ) from error
    return ed25519


@dataclass(frozen=True)
class _KnownKey:
    """A key as the file has it: one that does not say whether it is revoked is not trusted."""

    public: str
    name: str
    revoked: bool


@dataclass(frozen=True)
class KnownKeys:
    """The keys that one user trusts or has revoked, in one file of the data folder."""

    file: Path

    def all(self) -> tuple[TeamKey, ...]:
        """Every known key; raises `TrustError` when the file cannot be understood."""
        try:
            check_folder(self.file.parent)
            rows = read_value(list[_KnownKey], parse_json(read_file(self.file, _KNOWN_LIMIT)))
            return tuple(TeamKey(_hex(row.public), row.name, row.revoked) for row in rows)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, UsageError) as error:
            raise TrustError(
                f"The trusted keys in {self.file} cannot be read ({error}). Fix or remove the file."
            ) from error

    def find(self, key: TeamKey) -> TeamKey | None:
        """The same key as this user knows it."""
        return next((known_key for known_key in self.all() if known_key.public == key.public), None)

    def trust(self, key: TeamKey, name: str | None = None) -> TeamKey:
        """Trust a key under a name, else the one it had; raises as `remember` does."""
        with self._changing():
            before = self.find(key)
            chosen = replace(key, name=name or (before.name if before else "") or key.name)
            self._keep(chosen)
        return chosen

    def remember(self, key: TeamKey) -> None:
        """Keep a key, trusted or revoked; raises `ArtifactError` when it cannot be kept."""
        with self._changing():
            self._keep(key)

    def revoke(self, key: Any) -> TeamKey:
        """Trust a key no longer, given as for `read_public_key` or by its name here."""
        with self._changing():
            named = [other for other in self.all() if isinstance(key, str) and other.name == key]
            public_key = named[0] if named else read_public_key(key)
            revoked = replace(self.find(public_key) or public_key, revoked=True)
            self._keep(revoked)
        return revoked

    @contextmanager
    def _changing(self) -> Iterator[None]:
        try:
            with lock_folder(self.file.parent):
                yield
        except OSError as error:
            raise ArtifactError(f"Cannot store the key in {self.file}: {error}.") from error

    def _keep(self, key: TeamKey) -> None:
        others = [other for other in self.all() if other.public != key.public]
        if any(other.name == key.name for other in others if key.name):
            raise UsageError(
                f"Another key already has the name {key.name!r}. Choose a name: trust_key(key, "
                "name='…')."
            )
        rows = [asdict(_KnownKey(k.public, k.name, k.revoked)) for k in (*others, key)]
        write_whole(self.file, json.dumps(rows, indent=1).encode())
