"""Who vouches for a file: signatures by this user and by teams, and digests the user trusted."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.manifest.manifest import Signature, replace_signatures
from workbench.artifacts.trust.kept_files import (
    check_folder,
    check_secret,
    lock_folder,
    set_aside,
    write_whole,
)
from workbench.errors import ArtifactError, TrustError, UsageError, WorkbenchError
from workbench.file_path import open_flags
from workbench.plain_data import BY_HAND, parse_json, parse_toml, read_file
from workbench.settings import Settings
from workbench.typed_data import read_value

if TYPE_CHECKING:
    from workbench.artifacts.manifest.manifest import Manifest
    from workbench.artifacts.manifest.package_manifest import PackageManifest
    from workbench.artifacts.trust.team_keys import KnownKeys, Signed, TeamKey

HMAC = "hmac-sha256"
_KEY_SIZE = 64  # bytes
_LEAST_BYTES = 16  # values that a random key has; one of zeros is what a crash leaves of a file
_DIGESTS_LIMIT = 64 << 20  # bytes; 800,000 digests
Trust = bool | str
AnyManifest = TypeVar("AnyManifest", bound="Manifest | PackageManifest")


@dataclass(frozen=True, eq=False, repr=False)
class TrustStore:
    """The signing key of one user, the keys and digests that this user trusts, and the policy.

    Without `policy_file` the policy is `policy.toml` in the folder, if there is one.
    """

    folder: Path
    policy_file: Path | None = None

    @classmethod
    def of_user(cls) -> TrustStore:
        """The store of the user who runs this process."""
        settings = Settings.from_environment()
        return cls(settings.data_folder, settings.policy_file)

    @property
    def team_keys(self) -> KnownKeys:
        """The public keys of teams that the user trusts or has revoked."""
        from workbench.artifacts.trust.team_keys import KnownKeys

        return KnownKeys(self.folder / "team_keys.json")

    def policy(self) -> Policy:
        """What must hold before a file is loaded; raises `TrustError` when it cannot be read."""
        check_folder(self.folder)
        own = self.folder / "policy.toml"
        return read_policy(self.policy_file or own, required=self.policy_file is not None)

    @property
    def _key_file(self) -> Path:
        return self.folder / "key"

    @property
    def _digest_file(self) -> Path:
        return self.folder / "trusted.json"

    def key(self) -> bytes | None:
        """The signing key, or None when there is none yet.

        Raises `TrustError` for one that is not whole, not ours, or that others may read.
        """
        check_folder(self.folder)
        try:
            handle = os.open(
                self._key_file,
                os.O_RDONLY | open_flags("O_CLOEXEC", "O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"),
            )
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _bad_key(self._key_file, f"cannot be read ({error.strerror})") from error
        try:
            inode = os.fstat(handle)
            if not stat.S_ISREG(inode.st_mode):
                raise _bad_key(self._key_file, "is no file")
            check_secret(self._key_file, inode)
            content = os.read(handle, _KEY_SIZE + 1)
        finally:
            os.close(handle)
        if not content:
            raise _bad_key(self._key_file, "is empty")
        if len(content) != _KEY_SIZE or len({*content}) < _LEAST_BYTES:
            raise _bad_key(self._key_file, "was not created by this workbench")
        return content

    def make_key(self) -> bytes:
        """The signing key, made when there is none, whole or not at all.

        Raises OSError when it cannot be kept, `TrustError` as `key` does.
        """
        if key := self.key():
            return key
        with lock_folder(self.folder):
            if key := self.key():  # another process was faster
                return key
            fresh = secrets.token_bytes(_KEY_SIZE)
            write_whole(self._key_file, fresh)
        return fresh

    def sign(self, manifest: AnyManifest) -> AnyManifest:
        """The manifest with this user's signature beside the others."""
        key = self.make_key()
        value = hmac.new(key, manifest.signed_bytes(), "sha256").hexdigest()
        mine = Signature(HMAC, name_key(key), value)
        return add_signature(manifest, mine)

    def sign_if_possible(self, manifest: AnyManifest) -> AnyManifest:
        """The manifest with this user's signature, or as it is where no key can be kept.

        A key that must not sign is named in a warning.
        """
        try:
            return self.sign(manifest)
        except OSError:
            return manifest
        except TrustError as error:
            warnings.warn(f"The file was saved without your signature. {error}", stacklevel=2)
            return manifest

    def signed_by_user(self, manifest: Signed) -> bool:
        """Whether one of the signatures is this user's and right; a bad key has signed nothing."""
        try:
            key = self.key()
        except TrustError:  # `faults` names it
            return False
        if key is None:
            return False
        value = hmac.new(key, manifest.signed_bytes(), "sha256").hexdigest().encode()
        return any(
            s.kind == HMAC and hmac.compare_digest(str(s.value).encode("utf-8", "replace"), value)
            for s in manifest.signatures
        )

    def team_signer(self, manifest: Signed) -> TeamKey | None:
        """The known key of a team whose signature is right, a revoked one only if no other is.

        Raises `TrustError` when the package that checks signatures is missing.
        """
        if all(signature.kind == HMAC for signature in manifest.signatures):
            return None
        from workbench.artifacts.trust.team_keys import list_team_signatures

        named = {signature.key for signature in list_team_signatures(manifest)}
        keys = self.team_keys.all() if named else ()
        right = [key for key in keys if key.id in named and key.has_signed(manifest)]
        return min(right, key=lambda key: key.revoked, default=None)

    def standing(self, digest: str, manifest: Signed | None = None) -> str:
        """Who vouches for a file, in a few words."""
        if manifest is not None and self.signed_by_user(manifest):
            return "signed by you"
        if digest in self.digests():
            return "trusted by you"
        if manifest is None or not manifest.signatures:
            return "not signed"
        try:
            signer = self.team_signer(manifest)
        except TrustError as error:
            return f"signed by a team; {error}"
        if signer is None:
            return "signed by an unknown key"
        return f"signed by {'revoked ' if signer.revoked else ''}team key {signer.title}"

    def digests(self) -> frozenset[str]:
        """The digests that the user vouched for; none where the list cannot be believed."""
        try:
            return self._kept_digests()
        except (OSError, ValueError, TrustError):  # `faults` names it
            return frozenset()

    def _kept_digests(self) -> frozenset[str]:
        check_folder(self.folder)
        try:
            digests = parse_json(read_file(self._digest_file, _DIGESTS_LIMIT))
        except (FileNotFoundError, NotADirectoryError):
            return frozenset()
        return frozenset(read_value(list[str], digests))

    def faults(self) -> Iterator[str]:
        """Why the key or the list of digests, though there, vouches for nothing."""
        try:
            self.key()
        except TrustError as error:
            yield str(error)
        try:
            self._kept_digests()
        except TrustError:  # of the folder, which `key` has named
            return
        except (OSError, ValueError) as error:
            yield f"The digests that you trust, in {self._digest_file}, cannot be read: {error}."

    def vouch(self, digest: str) -> None:
        """Remember a digest; raises `ArtifactError` when it cannot be kept.

        A list that is damaged is kept under another name, which a warning tells.
        """
        try:
            with lock_folder(self.folder):
                try:
                    digests = self._kept_digests()
                except ValueError as error:
                    aside, digests = set_aside(self._digest_file), frozenset[str]()
                    warnings.warn(
                        f"The previously trusted digests could not be read ({error}) and were "
                        f"moved to {aside}. Trust those files again.",
                        stacklevel=2,
                    )
                write_whole(self._digest_file, json.dumps(sorted({*digests, digest})).encode())
        except OSError as error:
            raise ArtifactError(
                f"Cannot record {digest} as trusted: {error}. Load with trust={digest!r} instead."
            ) from error


def add_signature(manifest: AnyManifest, mine: Signature) -> AnyManifest:
    """The manifest with a signature in place of an older one by the same key."""
    others: list[Signature] = [
        s for s in manifest.signatures if (s.kind, s.key) != (mine.kind, mine.key)
    ]
    return replace_signatures(manifest, (*others, mine))


def name_key(key: bytes) -> str:
    """A short public name of a key."""
    return hashlib.sha256(b"key name" + key).hexdigest()[:16]


def trust(path: str | PathLike[str]) -> str:
    """Vouch for a file on this account and return its digest."""
    with open_any(path) as opened:
        TrustStore.of_user().vouch(opened.digest)
        return opened.digest


def trust_key(key: Any, *, name: str | None = None, revoke: bool = False) -> str:
    """Remember or revoke a public key on this account; see `workbench.trust_key`."""
    from workbench.artifacts.trust.team_keys import read_public_key

    keys = TrustStore.of_user().team_keys
    if revoke:
        return keys.revoke(key).text
    return keys.trust(read_public_key(key), name).text


def check_trust(
    path: str,
    digest: str,
    *,
    trust: Trust,
    store: TrustStore,
    manifest: Signed | None = None,
) -> None:
    """Raise `TrustError` unless the file is vouched for and the policy allows it.

    `trust` is what the caller of load gave: False, True (warns), or the digest; `UsageError` for
    anything else.
    """
    if trust is not None and not isinstance(trust, bool | str):
        raise UsageError(
            f"trust is {trust!r}: expected True, False or a digest such as 'sha256:…'."
        )
    if isinstance(trust, str):
        _check_given(path, digest, trust)
    policy = store.policy()
    if policy.signed_by is not None:
        _demand(path, policy, store, manifest)
        return
    if isinstance(trust, str) or digest in store.digests():
        return
    if manifest is not None and store.signed_by_user(manifest):
        return
    signer = None if manifest is None else store.team_signer(manifest)
    if signer is not None and not signer.revoked:
        return
    if trust and not policy.forbid_trust_true:
        warnings.warn(
            f"{path} runs code that nobody vouched for ({digest}). To accept only this file, load "
            f"it with trust={digest!r}.",
            stacklevel=2,
        )
        return
    forbidden = f" The policy {policy.path} forbids trust=True." if trust else ""
    forbidden += "".join(f"\n{fault}" for fault in store.faults())
    raise TrustError(_refusal(path, digest, store.standing(digest, manifest), forbidden))


def _check_given(path: str, digest: str, trusted: str) -> None:
    if not trusted.startswith("sha256:"):
        raise TrustError(
            f"trust={trusted!r} is not a digest: pass trust={digest!r} after inspecting the file."
        )
    if not hmac.compare_digest(trusted.lower().encode(), digest.encode()):
        raise TrustError(
            f"{path} is not the file that you trust: its digest is {digest}, you gave {trusted}. "
            f"Look at it with wb.inspect({path!r})."
        )


def _demand(path: str, policy: Policy, store: TrustStore, manifest: Signed | None) -> None:
    """Raise `TrustError` unless a key that the policy names has signed the file."""
    if manifest is None:
        raise TrustError(
            f"{path} was written by torch without a signature, which the policy {policy.path} "
            "requires. Nothing was executed. Create it with this workbench instead, and sign it."
        )
    if policy.by_user and store.signed_by_user(manifest):
        return
    keys = store.team_keys.all()
    revoked = {key.public for key in keys if key.revoked}
    for key in policy.signed_by or ():
        if key.public not in revoked and key.has_signed(manifest):
            return
    raise TrustError(
        f"{path} is not signed by a key in the policy {policy.path} ({policy.signers(keys)}). "
        "Nothing was executed; trust= does not override the policy. Ask the owner of a listed "
        f"key to sign the file: wb.sign({path!r}, 'team.pem')."
        + "".join(f"\n{fault}" for fault in (store.faults() if policy.by_user else ()))
    )


def _refusal(path: str, digest: str, standing: str, forbidden: str) -> str:
    return (
        f"Loading {path} runs code, and the file is {standing}. Nothing was executed.{forbidden}\n"
        f"Look at it first:      wb.inspect({path!r})\n"
        f"Then vouch for it:     wb.trust({path!r})\n"
        f"or accept it once:     wb.load(..., trust={digest!r})"
    )


def _bad_key(file: Path, why: str) -> TrustError:
    return TrustError(
        f"The signing key {file} {why}, so it cannot sign or verify files. Restore your key, or "
        "remove this one; the next save creates a new key."
    )


USER = "user"


@dataclass(frozen=True)
class Policy:
    """What a policy file says; without a file everything is left to the user.

    `signed_by` None demands no signature. With `by_user` the user's own signature will do.
    """

    path: str = ""
    signed_by: tuple[TeamKey, ...] | None = None
    by_user: bool = False
    forbid_trust_true: bool = False

    def signers(self, known: Iterable[TeamKey]) -> str:
        """The keys whose signature will do, for a sentence, named as this user knows them."""
        own = ("your own",) if self.by_user else ()
        by_user = {key.public: key for key in known}
        return ", ".join((*own, *(_called(key, by_user) for key in self.signed_by or ()))) or "none"


def _called(key: TeamKey, by_user: Mapping[str, TeamKey]) -> str:
    known_key = by_user.get(key.public)
    if known_key is None:
        return key.title
    return f"{known_key.name or key.title}{' (revoked)' if known_key.revoked else ''}"


def read_policy(path: Path, *, required: bool) -> Policy:
    """Read a policy file in TOML.

    For example::

        signed_by = ["release.pub.pem", "ed25519:9c0e…", "user"]
        forbid_trust_true = true

    `signed_by` names keys that may sign: a PEM file (relative to the policy), a key as
    `wb.trust_key` returns it, or "user" for the key of the account. A file that is not there is no
    policy unless it is required. Raises `TrustError` for one that cannot be understood: a policy
    with a slip of the pen must not count as none.
    """
    try:
        data = parse_toml(read_file(path, BY_HAND))
    except (FileNotFoundError, NotADirectoryError) as error:
        if link := _dangling(path):
            raise TrustError(
                f"The policy {path} cannot be read: the link {link} points nowhere. Nothing is "
                "loaded until it is fixed."
            ) from error
        if not required:
            return Policy()
        raise TrustError(
            f"The policy {path}, set in AOT_WORKBENCH_POLICY, does not exist. Nothing is loaded "
            "without it."
        ) from error
    except (OSError, ValueError) as error:
        raise TrustError(
            f"The policy {path} cannot be read ({error}). Nothing is loaded until it is fixed."
        ) from error
    return _policy(path, data)


def _dangling(path: Path) -> Path | None:
    """The link, the policy or a folder above it, that leads to nothing: no policy is none."""
    above = (path.absolute(), *path.absolute().parents)
    return next((place for place in above if place.is_symlink() and not place.exists()), None)


def _policy(path: Path, data: Mapping[str, Any]) -> Policy:
    unknown = sorted(data.keys() - {"signed_by", "forbid_trust_true"})
    if unknown:
        raise _wrong(
            path,
            (f"unknown entry {unknown[0]!r}; only signed_by and forbid_trust_true are allowed"),
        )
    forbid = data.get("forbid_trust_true", False)
    if not isinstance(forbid, bool):
        raise _wrong(path, "forbid_trust_true must be true or false")
    names = data.get("signed_by")
    if names is None:
        return Policy(str(path), forbid_trust_true=forbid)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _wrong(path, "signed_by must be a list of keys")
    keys = tuple(_key(path, name) for name in names if name != USER)
    return Policy(str(path), keys, USER in names, forbid)


def _key(path: Path, name: str) -> TeamKey:
    from workbench.artifacts.trust.team_keys import read_public_key  # most accounts have no policy

    try:
        return read_public_key(name if ":" in name else path.parent / name)
    except WorkbenchError as error:
        raise _wrong(path, f"the key {name!r}: {error}") from error


def _wrong(path: Path, why: str) -> TrustError:
    return TrustError(f"The policy {path} is invalid: {why}. Nothing is loaded until it is fixed.")
