"""Processes that save, and are killed: `python -m tests.faults.savers COMMAND KIND PATH …`.

They import no torch, so that a process is there at once and all of its time is saving.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.faults.watching import Watch
from workbench.artifacts.archive import aot_container
from workbench.artifacts.archive.file_kinds import open_file
from workbench.artifacts.manifest.manifest import Manifest

KINDS = ("artifact", "package")
_SECONDS = 600  # for all that one process does


def save(kind: str, path: Path, letter: str, size: int = 400_000) -> None:
    """Write a file whose content is all of one letter."""
    content = letter.encode() * size
    if kind == "artifact":
        members: dict[str, aot_container.Content] = {
            aot_container.PAYLOAD: content,
            aot_container.SKELETON: letter.encode(),
        }
        manifest = aot_container.with_members(Manifest(target=letter), members)
        aot_container.write_artifact(path, manifest, members)
        return
    from workbench.artifacts.manifest.package_manifest import PackageManifest
    from workbench.compiler.packaging.writing import FIXED, with_members, write_archive

    parts = {**FIXED, "data/a": content, "data/b": letter.encode()}
    write_archive(path, with_members(PackageManifest("m", ()), parts), parts)


def letter_of(kind: str, path: Path) -> str:
    """The letter that a whole file consists of; raises `ArtifactError` for any other file."""
    with open_file(path) as file:
        if kind == "artifact":
            opened = aot_container.read_artifact(file)
            big, small = aot_container.PAYLOAD, aot_container.SKELETON
            manifest = opened.manifest
        else:
            from workbench.artifacts.archive.package_container import read_package_container
            from workbench.artifacts.zip_files.members import read_frame

            opened = read_package_container(read_frame(file))
            big, small = "data/a", "data/b"
            manifest = opened.manifest
        assert all(opened.is_whole(name) for name in manifest.members)
        letter = opened.raw(small).decode()
        assert {*opened.raw(big)} == {ord(letter)}
        return letter


def again(kind: str, path: str, letter: str, count: str) -> None:
    """Save again and again, touching nothing else; says when it is ready to begin."""
    save(kind, Path(path).with_name(f"warm-{letter}"), letter)
    watch = Watch(f"{Path(path).parent}{os.sep}")
    os.write(1, b"ready\n")
    sys.stdin.readline()
    with watch.on():
        for _ in range(int(count)):
            save(kind, Path(path), letter)


def killed(kind: str, place: str, count: str) -> None:
    """Kill processes at random points of a save; prints the letters found afterwards."""
    path, rng, seen = Path(place), random.Random(kind), set()
    begun = time.perf_counter()
    os.waitpid(_saving_child(kind, path, "o"), 0)
    once = time.perf_counter() - begun
    for _ in range(int(count)):
        save(kind, path, "o")
        pause = rng.uniform(0, 1.5 * once)
        child = _saving_child(kind, path, "n")
        time.sleep(pause)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        seen.add(letter_of(kind, path))
        for other in path.parent.iterdir():
            if other.name != path.name:
                assert other.name.startswith(f".{path.name}."), other
                assert other.suffix == ".part", other
                other.unlink()
    print("".join(sorted(seen)))


def _saving_child(kind: str, path: Path, letter: str) -> int:
    child = os.fork()
    if child == 0:
        save(kind, path, letter)
        os._exit(0)
    return child


COMMANDS = {"again": again, "killed": killed}

if __name__ == "__main__":
    faulthandler.dump_traceback_later(_SECONDS, exit=True)
    COMMANDS[sys.argv[1]](*sys.argv[2:])
