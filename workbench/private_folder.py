"""A folder that only this user can enter: what lies in it is run by the compiler."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from workbench.errors import WorkbenchError


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
            f"The cache folder {path} is a link, not a folder; code found there would be run. "
            "Remove it, or name another folder in AOT_WORKBENCH_CACHE."
        )
    if inode.st_uid != os.getuid():
        raise WorkbenchError(
            f"The cache folder {path} belongs to user {inode.st_uid}, not to you; code found there "
            "would be run. Remove it, or name another folder in AOT_WORKBENCH_CACHE."
        )
    if stat.S_IMODE(inode.st_mode) & 0o077:
        path.chmod(0o700)
    return path
