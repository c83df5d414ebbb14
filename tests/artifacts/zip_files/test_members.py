from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.artifacts.zip_files.members import copy_bytes
from workbench.errors import ArtifactError

CONTENT = bytes(range(256)) * 9000  # more than one chunk


def copied(path: Path, *pieces: tuple[int, int]) -> bytes:
    (path / "from").write_bytes(CONTENT)
    with (path / "from").open("rb") as file, (path / "to").open("x+b") as to:
        for start, size in pieces:
            copy_bytes(file, start, to, size)
    return (path / "to").read_bytes()


def sendfile_that_stops(after: int) -> Callable[..., int]:
    """The system's, on a file system to which it cannot write after so many calls."""
    sendfile, calls = os.sendfile, iter(range(after))

    def stops(to: int, file: int, offset: int, count: int) -> int:
        if next(calls, None) is None:
            raise OSError(errno.EINVAL, "Invalid argument")
        return sendfile(to, file, offset, min(count, 1000))

    return stops


@pytest.mark.parametrize("after", [0, 1, 5])
def test_pieces_are_one_after_the_other_where_the_system_cannot_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr(os, "sendfile", sendfile_that_stops(after))
    pieces = ((10, 3000), (3010, 2_000_000), (2_003_010, 7))
    assert copied(tmp_path, *pieces) == CONTENT[10:2_003_017]


@pytest.mark.parametrize("after", [0, 10**9])
def test_a_file_that_ends_before_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr(os, "sendfile", sendfile_that_stops(after))
    with pytest.raises(ArtifactError, match="truncated"):
        copied(tmp_path, (len(CONTENT) - 5, 6))


def test_other_errors_of_the_system_are_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "sendfile", full)
    with pytest.raises(OSError, match="No space"):
        copied(tmp_path, (0, 10))
