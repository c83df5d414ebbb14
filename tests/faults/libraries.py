"""Libraries that do harm as soon as they are opened, put in place of signed ones."""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.faults.manifests import relist
from tests.faults.zips import Archive

_SOURCE = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void leave_a_mark(void) {
    close(open(MARK, O_WRONLY | O_CREAT, 0600));
}
"""


def marking_library(folder: Path, mark: Path) -> bytes:
    """An ELF library whose constructor makes the file `mark`."""
    (folder / "marking.c").write_text(_SOURCE)
    command = ["gcc", "-shared", "-fPIC", "-s", "-Wl,-z,noseparate-code", f'-DMARK="{mark}"']
    subprocess.run([*command, "marking.c", "-o", "marking.so"], cwd=folder, check=True, timeout=60)
    return (folder / "marking.so").read_bytes()


def _in_place(archive: Archive, at: int, library: bytes) -> None:
    """Of the same size, so that only its hash differs."""
    info, whole = archive.members[at]
    archive.members[at] = (info, library + bytes(len(whole) - len(library)))


def _of_another_size(archive: Archive, at: int, library: bytes) -> None:
    archive.members[at] = (archive.members[at][0], library)


def _listed(archive: Archive, at: int, library: bytes) -> None:
    """With its hash in the manifest, which the signature no longer fits."""
    _of_another_size(archive, at, library)
    relist(archive)


def _twice(archive: Archive, at: int, library: bytes) -> None:
    """A second member of the same name, which many readers take."""
    archive.members.append((copy.copy(archive.members[at][0]), library))


FORGERIES: dict[str, Callable[[Archive, int, bytes], None]] = {
    "in place": _in_place,
    "of another size": _of_another_size,
    "listed": _listed,
    "twice": _twice,
}


def forged(how: str, whole: bytes, library: bytes) -> bytes:
    """A signed file with another library in it; `how` is one of `FORGERIES`."""
    archive = Archive.read(whole, Path())
    at = archive.index(".so")
    assert at is not None
    FORGERIES[how](archive, at, library)
    return archive.write(sealed=archive.sealed)
