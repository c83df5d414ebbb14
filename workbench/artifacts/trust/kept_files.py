"""The private files of one user: changed by one at a time, written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workbench.errors import TrustError
from workbench.file_path import open_flags
from workbench.temporary import hold

_LOCK = "lock"
_PART = ".part"


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the folder alone, between threads and processes; made where it is not there.

    What somebody who was killed left half-written is removed. Raises `OSError` where the folder
    cannot be written, `TrustError` where others may write to it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_folder(folder)
    flags = os.O_RDWR | os.O_CREAT | open_flags("O_CLOEXEC", "O_NOFOLLOW", "O_BINARY")
    handle = os.open(folder / _LOCK, flags, 0o600)
    try:
        hold(handle)
        for left in folder.glob(f".*{_PART}"):
            left.unlink(missing_ok=True)
        yield
    finally:
        os.close(handle)


def write_whole(file: Path, content: bytes) -> None:
    """Put a private file in place, whole; only while its folder is held."""
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}{_PART}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | open_flags("O_CLOEXEC", "O_BINARY")
    try:
        with os.fdopen(os.open(part, flags, 0o600), "wb") as to:
            to.write(content)
            to.flush()
            os.fsync(to.fileno())
        os.replace(part, file)
    except BaseException:
        with suppress(OSError):  # the first error is the one to tell
            part.unlink(missing_ok=True)
        raise


def set_aside(file: Path) -> Path:
    """Give a damaged file another name, under which it stays."""
    aside = file.with_name(f"{file.name}.damaged-{secrets.token_hex(4)}")
    os.replace(file, aside)
    return aside


def check_folder(folder: Path) -> None:
    """Raise `TrustError` where others may put keys, digests or a policy into the folder."""
    try:
        inode = folder.stat()
    except OSError:  # there is nothing in it that could be believed
        return
    _check_owner(folder, inode)
    written = inode.st_mode & 0o022
    if sys.platform != "win32" and written and (written & 0o002 or not _is_private(inode.st_gid)):
        raise TrustError(
            f"Other users can write to the folder {folder} (mode {stat.S_IMODE(inode.st_mode):o}), "
            "so its keys and digests cannot be trusted. Check its content, then: chmod 700 "
            f"{folder}"
        )


def _is_private(group: int) -> bool:
    """Whether a group is the user's alone, as distributions make one for each, with umask 002."""
    import grp
    import pwd

    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return entry.gr_gid == user.pw_gid and {user.pw_name} >= {*entry.gr_mem}


def check_secret(file: Path, inode: os.stat_result) -> None:
    """Raise `TrustError` for a secret file that others may read or that belongs to another user."""
    _check_owner(file, inode)
    if sys.platform != "win32" and inode.st_mode & 0o077:
        raise TrustError(
            f"Other users can read the signing key {file} (mode {stat.S_IMODE(inode.st_mode):o}). "
            f"If nobody has read it: chmod 600 {file}. Otherwise remove it; the next save creates "
            "another."
        )


def _check_owner(path: Path, inode: os.stat_result) -> None:
    if sys.platform != "win32" and inode.st_uid != os.geteuid():
        raise TrustError(
            f"{path} belongs to user {inode.st_uid}, not to you, so its content is not trusted. "
            "Set AOT_WORKBENCH_DATA to a folder that you own."
        )
