"""File-like objects in place of a path."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from workbench.errors import ArtifactError, UsageError

Made = TypeVar("Made")
_CHUNK = 1 << 20


def call_with_path(given: Any, work: Callable[[Any], Made]) -> Made:
    """What `work` makes of the path of a file, or of a file-like object, read from its beginning.

    An open file is used where it lies; another object is copied into a private file, which stays
    as long as what was made. Raises `UsageError` for an object that gives text or cannot go back.
    """
    if not hasattr(given, "read"):
        return work(given)
    place = _path_of(given)
    if place is not None:
        return work(place)
    import shutil
    import weakref

    from workbench.temporary import make_folder

    folder = make_folder("workbench-")
    try:
        made = work(_copied(given, folder))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
    return made


def _path_of(given: Any) -> str | None:
    """Where an open file lies, while its name still leads there."""
    name = getattr(given, "name", None)
    if not isinstance(name, str) or not hasattr(given, "fileno"):
        return None
    try:
        given.flush()
        is_same = os.path.samestat(os.fstat(given.fileno()), os.stat(name))
    except (OSError, ValueError):  # closed, gone, or no file of the system
        return None
    return name if is_same else None


def _copied(given: Any, folder: os.PathLike[str]) -> str:
    named = getattr(given, "name", None)
    name = os.path.basename(named) if isinstance(named, str) else ""
    path = os.path.join(folder, name or "file")
    try:
        given.seek(0)
        with open(path, "wb") as file:
            while chunk := given.read(_CHUNK):
                file.write(chunk)
    except TypeError as error:
        raise UsageError(
            "The file was opened as text: open it with mode 'rb', or pass its path."
        ) from error
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"The {type(given).__name__} cannot be read from its beginning ({error}). Pass a path "
            "or io.BytesIO(content)."
        ) from error
    return path
