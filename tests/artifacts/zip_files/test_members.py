from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.artifacts.zip_files.members import copy_bytes, read_frame
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


@pytest.mark.parametrize("name", ["a/" + "b" * 3400, "a/" + "é" * 1500, "a\0" * 800, "a/" * 900])
@pytest.mark.parametrize(
    ("at", "size", "value"),
    [(10, 2, 8), (8, 2, 1), (38, 4, 0o120777 << 16), (16, 4, 7), (24, 4, 2**32 - 2), (46, 4, 7)],
)
def test_a_directory_that_lies_is_refused_in_one_sentence(
    tmp_path: Path, name: str, at: int, size: int, value: int
) -> None:
    """Names of 65,535 characters may be forged, and were repeated whole."""
    path = tmp_path / "model.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a/first"), b"content")
        archive.writestr(zipfile.ZipInfo("x" * len(name.encode())), b"content")
    forged = path.read_bytes().replace(b"x" * len(name.encode()), name.encode())
    entry = forged.rindex(b"PK\1\2") + at
    path.write_bytes(forged[:entry] + value.to_bytes(size, "little") + forged[entry + size :])
    with path.open("rb") as file, pytest.raises(ArtifactError) as refused:
        read_frame(file)
    assert len(str(refused.value)) < 250
