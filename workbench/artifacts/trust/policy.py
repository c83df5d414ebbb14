"""The policy of a team or a machine: whose signature a file must bear before it is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import TrustError, WorkbenchError
from workbench.plain_data import BY_HAND, parse_toml, read_file

if TYPE_CHECKING:
    from workbench.artifacts.trust.team_keys import TeamKey

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
    known = by_user.get(key.public)
    if known is None:
        return key.title
    return f"{known.name or key.title}{' (revoked)' if known.revoked else ''}"


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
                f"The policy {path} cannot be read: the link {link} leads nowhere. Nothing is "
                "loaded until it is mended."
            ) from error
        if not required:
            return Policy()
        raise TrustError(
            f"The policy {path}, which AOT_WORKBENCH_POLICY names, does not exist. Nothing is "
            "loaded without it."
        ) from error
    except (OSError, ValueError) as error:
        raise TrustError(
            f"The policy {path} cannot be read ({error}). Nothing is loaded until it is mended."
        ) from error
    return _policy(path, data)


def _dangling(path: Path) -> Path | None:
    """The link, the policy or a folder above it, that leads to nothing: no policy is none."""
    above = (path.absolute(), *path.absolute().parents)
    return next((place for place in above if place.is_symlink() and not place.exists()), None)


def _policy(path: Path, data: Mapping[str, Any]) -> Policy:
    unknown = sorted(data.keys() - {"signed_by", "forbid_trust_true"})
    if unknown:
        raise _wrong(path, f"it has no entry {unknown[0]!r}, only signed_by and forbid_trust_true")
    forbid = data.get("forbid_trust_true", False)
    if not isinstance(forbid, bool):
        raise _wrong(path, "forbid_trust_true is true or false")
    names = data.get("signed_by")
    if names is None:
        return Policy(str(path), forbid_trust_true=forbid)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _wrong(path, "signed_by is a list of keys")
    keys = tuple(_key(path, name) for name in names if name != USER)
    return Policy(str(path), keys, USER in names, forbid)


def _key(path: Path, name: str) -> TeamKey:
    from workbench.artifacts.trust.team_keys import read_public_key  # most accounts have no policy

    try:
        return read_public_key(name if ":" in name else path.parent / name)
    except WorkbenchError as error:
        raise _wrong(path, f"the key {name!r}: {error}") from error


def _wrong(path: Path, why: str) -> TrustError:
    return TrustError(
        f"The policy {path} cannot be followed: {why}. Nothing is loaded until it is mended."
    )
