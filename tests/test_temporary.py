"""What a killed process leaves behind is gone after the next start; what lives stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from workbench import temporary
from workbench.report.atomic import write_atomically, write_saved_folder

MAKE = """
import sys, time
from pathlib import Path
from workbench.report.atomic import write_atomically
from workbench.temporary import make_folder
kept = [make_folder(prefix) for prefix in ("aot-workbench-", "workbench-", "workbench-trial-")]
(kept[0] / "big").write_bytes(b"x")
with write_atomically(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, looked at as by a process that has just started."""
    made = tmp_path / "tmp"
    made.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(made))
    temporary._collect_folders.cache_clear()
    return made


def start(place: Path, target: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAKE, str(target)]
    variables = {**os.environ, "TMPDIR": str(place)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_killed_process_leaves_nothing_after_the_next_start(place: Path, tmp_path: Path) -> None:
    target = tmp_path / "model.aot"
    with start(place, target) as process:
        with temporary.make_temporary_folder() as own, write_atomically(target) as file:
            file.write(b"whole")
            assert len([*place.iterdir()]) == 4  # what lives is left alone
            assert len([*tmp_path.glob(".model.aot.*.part")]) == 2
        assert not own.exists()
        process.send_signal(signal.SIGKILL)
    assert len([*place.iterdir()]) == 3
    temporary._collect_folders.cache_clear()
    with temporary.make_temporary_folder() as own:
        assert [*place.iterdir()] == [own]
    with write_atomically(target) as file:
        file.write(b"whole")
    assert [*tmp_path.glob(".*")] == []
    assert [*place.iterdir()] == []
    assert target.read_bytes() == b"whole"


def test_files_of_others_are_left_alone(place: Path, tmp_path: Path) -> None:
    names = ("aot-workbench-notes", "workbench-x", ".hidden", "aot-workbench-file-held")
    for name in names[:3]:
        (place / name).mkdir()
    (place / names[3]).write_text("a file")
    (place / "workbench-link-held").symlink_to(tmp_path)
    other = tmp_path / ".notes.0123abcd.part"
    other.write_text("of a program that locks nothing")
    with temporary.make_temporary_folder(), write_atomically(tmp_path / "model.aot") as file:
        file.write(b"x")
    assert {entry.name for entry in place.iterdir()} == {*names, "workbench-link-held"}
    assert other.exists()


def test_an_interrupt_leaves_no_descriptor_and_no_file(tmp_path: Path, place: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with pytest.raises(KeyboardInterrupt), write_atomically(tmp_path / "a"):
            raise KeyboardInterrupt
        with pytest.raises(KeyboardInterrupt), temporary.make_temporary_folder():
            raise KeyboardInterrupt
    assert [*tmp_path.iterdir()] == [place]
    assert [*place.iterdir()] == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_folder_that_cannot_be_made_is_a_sentence(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.rmdir()
    with pytest.raises(wb.WorkbenchError, match=r"Cannot make a temporary folder in .* TMPDIR"):
        temporary.make_folder("workbench-")


@pytest.mark.parametrize("is_new", [True, False])
def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path, is_new: bool) -> None:
    target = tmp_path / "project"
    if not is_new:
        target.mkdir()
        (target / "mine.txt").write_text("mine")

    def fill() -> None:
        with write_saved_folder(target) as made:
            (made / "a.txt").write_text("a")
            raise OSError(28, "No space left on device")

    with pytest.raises(wb.ArtifactError, match="No space left on device"):
        fill()
    assert target.exists() is not is_new
    assert [*target.rglob("*")] == ([] if is_new else [target / "mine.txt"])
    with write_saved_folder(target) as made:
        (made / "b").mkdir()
        (made / "b" / "c.txt").write_text("c")
    assert (target / "b" / "c.txt").read_text() == "c"
    assert is_new or (target / "mine.txt").exists()
    assert not [*target.glob(".*")]
