"""Temporary folders and files that go with their process, also when it is killed.

Each is locked while its process lives, and the system lets go of a lock however that ends: what can
be locked by another process has been left behind, and is removed by the next that makes one.

A private folder stays, and only this user can enter it: what lies in it is run by the compiler.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from workbench.errors import WorkbenchError

_HELD = "-held"
_FOLDER = re.compile(rf"\.?(aot-)?workbench-.*{_HELD}")
_UNBORN = "aot-workbench-new-"  # a folder that nobody has locked yet
_PART = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}\.part")
_OLD_S = 3600.0
_UNBORN_S = 60.0


class HeldFolder(type(Path())):  # type: ignore[misc]
    """The path of a locked folder; the lock goes with this object."""


def make_folder(prefix: str, where: Path | None = None) -> Path:
    """A new folder that only this user can enter, whose name begins with `prefix`.

    Whoever asked for it removes it; after a kill the next process does. Raises `WorkbenchError`
    where it cannot be made.
    """
    place = str(where or tempfile.gettempdir())
    try:
        _collect_folders(place)
        if sys.platform == "win32":  # which locks no folders
            return Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        return _locked(prefix, place)
    except OSError as error:
        raise WorkbenchError(
            f"Cannot make a temporary folder in {place}: {error.strerror}. Free some space, or "
            "name another folder in the environment variable TMPDIR."
        ) from error


def _locked(prefix: str, place: str) -> Path:
    path = Path(tempfile.mkdtemp(prefix=_UNBORN, dir=place))
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            hold(handle, wait=False)
            name = f"{prefix}{path.name.removeprefix(_UNBORN)}{_HELD}"
            folder = HeldFolder(path.rename(path.with_name(name)))
        except BaseException:
            os.close(handle)
            raise
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    weakref.finalize(folder, os.close, handle)
    return folder


@contextmanager
def make_temporary_folder(
    prefix: str = "aot-workbench-", where: Path | None = None
) -> Iterator[Path]:
    """A folder as `make_folder` makes it, removed in every case."""
    folder = make_folder(prefix, where)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a child that was just ended may still write


@cache
def _collect_folders(place: str) -> None:
    """Remove what processes that were killed have left, once in the life of this one."""
    if sys.platform == "win32":
        return
    for entry in _own(place):
        is_held = _FOLDER.fullmatch(entry.name)
        is_unborn = entry.name.startswith(_UNBORN) and _age(entry) > _UNBORN_S
        if (is_held or is_unborn) and entry.is_dir(follow_symlinks=False):
            with _only_holder(entry.path) as is_left:
                if is_left:
                    shutil.rmtree(entry.path, ignore_errors=True)


def collect_parts(target: Path) -> None:
    """Remove the half-written files of killed processes beside a file that is to be written.

    Those of other files only after an hour: somebody may write there who locks nothing.
    """
    if sys.platform == "win32":
        return
    for entry in _own(str(target.parent)):
        match = _PART.fullmatch(entry.name)
        if match is None or not entry.is_file(follow_symlinks=False):
            continue
        if match["name"] == target.name or _age(entry) > _OLD_S:
            with _only_holder(entry.path) as is_left:
                if is_left:
                    with suppress(OSError):
                        os.unlink(entry.path)


def hold(handle: int, *, wait: bool = True) -> bool:
    """Lock an open file or folder until it is closed; whether it is locked.

    Between threads and processes. Raises `OSError` where the file system has no locks, except for
    one that does not wait.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if wait:
            raise
        return False
    return True


@contextmanager
def _only_holder(path: str) -> Iterator[bool]:
    """Whether nobody else holds it, which then stays so in the block."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # gone meanwhile
        yield False
        return
    try:
        yield hold(handle, wait=False)
    finally:
        os.close(handle)


def _own(place: str) -> list[os.DirEntry[str]]:
    """What lies in a folder and belongs to this user."""
    own = []
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            with suppress(OSError):
                is_ours = entry.name.startswith(("aot-workbench-", "workbench-", "."))
                if is_ours and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                    own.append(entry)
    return own


def _age(entry: os.DirEntry[str]) -> float:
    """Seconds since it was changed."""
    return time.time() - entry.stat(follow_symlinks=False).st_mtime


def make_private_folder(path: Path) -> Path:
    """Create the folder with mode 0700, or check that the one that exists is ours alone.

    Raises
    ------
    WorkbenchError
        When the path is a link, not a folder, or belongs to another user.
    OSError
        When it cannot be created, for example in a read-only home.
    """
    with contextlib.suppress(FileExistsError):  # the checks below say what is wrong with it
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    inode = path.lstat()
    if not stat.S_ISDIR(inode.st_mode):
        raise WorkbenchError(
            f"The cache folder {path} is a link, not a folder; code in it would be executed. "
            "Remove it, or name another folder in AOT_WORKBENCH_CACHE."
        )
    if inode.st_uid != os.getuid():
        raise WorkbenchError(
            f"The cache folder {path} belongs to user {inode.st_uid}, not to you; code in it "
            "would be executed. Remove it, or name another folder in AOT_WORKBENCH_CACHE."
        )
    if stat.S_IMODE(inode.st_mode) & 0o077:
        path.chmod(0o700)
    return path
