"""Saving that is killed, has no room, may not, or is not alone: the old file or the new one."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb
from tests.faults import savers

ROOT = Path(__file__).parents[2]
KILLS = 100  # of each kind
KILLS_IN_SAMPLE = 10


@contextlib.contextmanager
def saving(kind: str, path: Path, letter: str, count: int) -> Iterator[subprocess.Popen[str]]:
    """A process that waits for a line and then saves `count` times."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.savers", "again", kind, str(path), letter, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def leftovers(path: Path) -> list[str]:
    return [file.name for file in path.parent.iterdir() if file.name != path.name]


def killed_saves(kind: str, path: Path, count: int) -> str:
    """The letters that are found after kills at random points of saves: `o` old, `n` new."""
    command = [sys.executable, "-m", "tests.faults.savers", "killed", kind, str(path), str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.parametrize("kind", savers.KINDS)
def test_a_kill_during_a_save_leaves_the_old_file_or_the_new(kind: str, tmp_path: Path) -> None:
    assert {*killed_saves(kind, tmp_path / "model", KILLS_IN_SAMPLE)} <= {*"no"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", savers.KINDS)
def test_many_kills_during_saves_leave_the_old_file_or_the_new(kind: str, tmp_path: Path) -> None:
    assert killed_saves(kind, tmp_path / "model", KILLS) == "no"


@pytest.mark.parametrize("kind", savers.KINDS)
@pytest.mark.parametrize("room", [0, 1, 60, 5000, 399_999])
def test_without_room_the_old_file_stays(kind: str, room: int, tmp_path: Path) -> None:
    path = tmp_path / "model"
    savers.save(kind, path, "o")
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))  # as a full disk: EFBIG
    try:
        with pytest.raises(wb.ArtifactError, match="Cannot write"):
            savers.save(kind, path, "n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == before
    assert not leftovers(path)


@pytest.mark.parametrize("kind", savers.KINDS)
def test_a_folder_that_cannot_be_written_is_named(kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        savers.save(kind, path, "o")
        path.parent.chmod(0o555)
        with as_nobody(), pytest.raises(wb.ArtifactError, match=r"Cannot write .*Permission"):
            savers.save(kind, path, "n")
        assert savers.letter_of(kind, path) == "o"
        assert not leftovers(path)
        path.parent.chmod(0o755)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's rights, which no folder stops."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("kind", ["artifact", pytest.param("package", marks=pytest.mark.slow)])
def test_two_savers_and_a_reader_see_whole_files_only(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "model"
    path.parent.mkdir()
    savers.save(kind, path, "o")
    seen = {letter: 0 for letter in "oab"}
    with (
        saving(kind, path, "a", 60) as first,
        saving(kind, path, "b", 60) as second,
    ):
        for name in leftovers(path):
            (path.parent / name).unlink()  # what they wrote to warm up
        for process in (first, second):
            begin(process)
        while first.poll() is None or second.poll() is None:
            seen[savers.letter_of(kind, path)] += 1
        assert (first.returncode, second.returncode) == (0, 0)
    assert seen["a"] + seen["b"] > 0
    assert not leftovers(path)
