"""Every way in which a file can be wrong: its own error, nothing run, nothing left behind."""

from __future__ import annotations

import json
import os
import pickle
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.artifacts.archive import aot_container
from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.machine.machine_description import Machine, describe_current_machine
from workbench.artifacts.manifest.manifest import Build, Manifest, Versions
from workbench.artifacts.preflight.preflight import BUILD_FLAGS, check_fits
from workbench.artifacts.trust.trust import TrustStore, check_trust
from workbench.errors import ArtifactError, TrustError
from workbench.temporary import make_temporary_folder

MACHINE = describe_current_machine()


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (str(self.marker), "w")


def sample(marker: Path) -> tuple[Manifest, dict[str, aot_container.Content]]:
    members: dict[str, aot_container.Content] = {
        aot_container.PAYLOAD: pickle.dumps(Bomb(marker), protocol=4),
        aot_container.name_kernel_member("avx2-native", "0" * 64): b"\x7fELF nothing to run",
    }
    manifest = Manifest(
        versions=Versions(MACHINE.python, MACHINE.magic, MACHINE.torch, MACHINE.triton),
        builds=(Build("avx2-native", "avx2", ()),),
        contract={"inputs": []},
    )
    return manifest, members


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return tmp_path


@pytest.fixture
def store(place: Path) -> TrustStore:
    return TrustStore(place / "data")


def write(place: Path, store: TrustStore, **changes: object) -> Path:
    """A signed artifact; `changes` are fields of its manifest."""
    manifest, members = sample(place / "ran")
    manifest = replace(aot_container.with_members(manifest, members), **changes)  # type: ignore[arg-type]
    aot_container.write_artifact(place / "model.aot", store.sign(manifest), members)
    return place / "model.aot"


def open_fully(path: Path, store: TrustStore, machine: Machine = MACHINE) -> None:
    """All the steps of loading that come before anything runs."""
    with open_any(path) as opened:
        assert opened.artifact is not None
        manifest = opened.artifact.manifest
        check_fits(str(path), manifest, machine)
        check_trust(str(path), opened.digest, trust=False, store=store, manifest=manifest)
        with make_temporary_folder() as folder:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            opened.artifact.unpack(folder, manifest.members)


def assert_nothing_left(place: Path) -> None:
    assert not (place / "ran").exists()
    assert not list((place / "temporary").iterdir())


def test_a_whole_artifact_passes_every_step(place: Path, store: TrustStore) -> None:
    open_fully(write(place, store), store)
    assert_nothing_left(place)


def rezip(path: Path, edit: Callable[[zipfile.ZipFile], None], *, skip: str = "") -> None:
    """Write the zip again with one thing different, as a foreign tool would."""
    with zipfile.ZipFile(path) as old:
        parts = [(info, old.read(info)) for info in old.infolist()]
    with zipfile.ZipFile(path, "w") as new:
        for info, content in parts:
            if info.filename != skip:
                new.writestr(info, content)
        edit(new)


def add(
    name: str, mode: int = stat.S_IFREG | 0o600, content: bytes = b"x"
) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        rezip(path, lambda archive: archive.writestr(info, content))

    return change


def compressed(path: Path) -> None:
    info = zipfile.ZipInfo("report.wbr")
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    bomb = b"0" * 10_000_000
    rezip(path, lambda a: a.writestr(info, bomb, compress_type=zipfile.ZIP_DEFLATED))


def claims_huge_member(path: Path) -> None:
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    struct.pack_into("<II", content, at + 20, 0xFFFFFFF0, 0xFFFFFFF0)
    path.write_bytes(content)


def foreign_manifest(path: Path) -> None:
    rezip(path, lambda a: a.writestr("manifest.json", b'{"kind": "other"}'), skip="manifest.json")


def newer_schema(path: Path) -> None:
    manifest, members = sample(path)
    newer = replace(aot_container.with_members(manifest, members), schema=99)
    aot_container.write_artifact(path, newer, members)


def link(path: Path) -> None:
    add("report.wbr", stat.S_IFLNK | 0o777, b"/etc/passwd")(path)


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda p: p.unlink(), "Cannot open .*No such file"),
    "empty": (lambda p: p.write_bytes(b""), "is empty"),
    "folder": (lambda p: (p.unlink(), p.mkdir()), "is a folder"),
    "pipe": (lambda p: (p.unlink(), os.mkfifo(p)), "no regular file"),
    "foreign": (lambda p: p.write_bytes(b"GIF89a" + bytes(99)), "not an artifact or package"),
    "foreign zip": (lambda p: zipfile.ZipFile(p, "w").close(), "no manifest.json"),
    "truncated": (lambda p: p.write_bytes(p.read_bytes()[:-90]), "truncated or damaged"),
    "half": (lambda p: p.write_bytes(p.read_bytes()[:400]), "truncated or damaged"),
    "comment cut": (lambda p: p.write_bytes(p.read_bytes()[:-30]), "end record is wrong"),
    "appended": (lambda p: p.write_bytes(p.read_bytes() + b"x"), "damaged"),
    "truncated pickle": (lambda p: p.write_bytes(pickle.dumps("x" * 99, 4)[:-3]), "truncated"),
    "path traversal": (add("../../evil.so"), "unexpected member '../../evil.so'"),
    "absolute path": (add("/etc/evil"), "unexpected member"),
    "other member": (add("notes.txt"), "unexpected member"),
    "link": (link, "link or encrypted"),
    "compressed bomb": (compressed, "is compressed"),
    "duplicate": (add("payload"), "two members with one name"),
    "unlisted kernel": (add(f"kernels/avx2/{'1' * 64}.so"), "directory was changed|not what the"),
    "absurd size": (claims_huge_member, "larger than the file|damaged|compressed"),
    "foreign manifest": (foreign_manifest, "directory was changed|not written by"),
    "newer schema": (newer_schema, "schema 99, but this workbench reads up to 1"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_file_is_refused_with_its_own_error(
    fault: str, place: Path, store: TrustStore
) -> None:
    damage, message = FAULTS[fault]
    path = write(place, store)
    damage(path)
    with pytest.raises(ArtifactError, match=message):
        open_fully(path, store)
    assert_nothing_left(place)


def test_a_flipped_bit_anywhere_is_found(place: Path, store: TrustStore) -> None:
    path = write(place, store)
    whole = path.read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        with pytest.raises(ArtifactError):
            open_fully(path, store)
    assert_nothing_left(place)


@pytest.mark.parametrize(
    ("versions", "named"),
    [
        (Versions("3.9", MACHINE.magic, MACHINE.torch), "python: needs 3.9"),
        (Versions(MACHINE.python, "ffff0d0a", MACHINE.torch), "bytecode: needs ffff0d0a"),
        (Versions(MACHINE.python, MACHINE.magic, "1.0.0+cpu"), "torch: needs 1.0.0"),
    ],
)
def test_another_release_is_named(
    versions: Versions, named: str, place: Path, store: TrustStore
) -> None:
    path = write(place, store, versions=versions)
    with pytest.raises(ArtifactError, match=named) as caught:
        open_fully(path, store)
    assert "wb.recompile(" in str(caught.value)
    assert_nothing_left(place)


def test_another_build_of_the_same_torch_fits_a_cpu_artifact(
    place: Path, store: TrustStore
) -> None:
    release = MACHINE.torch.partition("+")[0]
    other = "cpu" if MACHINE.torch.endswith("+cu130") else "cu130"
    versions = Versions(MACHINE.python, MACHINE.magic, f"{release}+{other}")
    open_fully(write(place, store, versions=versions), store)
    with pytest.raises(ArtifactError, match="torch: needs"):
        open_fully(
            write(place, store, versions=versions, device="cuda"), store, replace(MACHINE, gpu=True)
        )


def test_another_processor_and_device_are_named(place: Path, store: TrustStore) -> None:
    build = Build("avx512-native", "avx512", ("avx512f", "no_such_flag"))
    with pytest.raises(ArtifactError, match=r"instructions: needs avx512-native.*no_such_flag"):
        open_fully(write(place, store, builds=(build,)), store)
    with pytest.raises(ArtifactError, match="device: needs cuda"):
        open_fully(write(place, store, device="cuda"), store, replace(MACHINE, gpu=False))
    assert "avx2" in BUILD_FLAGS
    assert_nothing_left(place)


def test_an_unsigned_file_is_refused_before_anything_runs(place: Path, store: TrustStore) -> None:
    path = write(place, store)
    with pytest.raises(
        TrustError, match=r"signed by an unknown key.*Nothing was executed"
    ) as caught:
        open_fully(path, TrustStore(place / "another user"))
    with open_any(path) as opened:
        digest = opened.digest
    for advice in (digest, "wb.inspect(", "wb.trust("):
        assert advice in str(caught.value)
    assert_nothing_left(place)


KILLED_SAVE = """
import os, signal, sys, json
from pathlib import Path
point, path = int(sys.argv[1]), Path(sys.argv[2])
count = 0
def dying(function):
    def call(*args, **kwargs):
        global count
        for moment in (0, 1):
            if count == point:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            if moment == 0:
                result = function(*args, **kwargs)
        return result
    return call
import tempfile, zipfile
from workbench.artifacts.archive import aot_container
from workbench.artifacts.manifest.manifest import Manifest
from workbench.temporary import make_temporary_folder
members = {"payload": b"new" * 50_000, "skeleton": b"new"}
manifest = aot_container.with_members(Manifest(), members)
tempfile.mkstemp = dying(tempfile.mkstemp)
zipfile.ZipFile.writestr = dying(zipfile.ZipFile.writestr)
zipfile.ZipFile.close = dying(zipfile.ZipFile.close)
os.fsync = dying(os.fsync)
os.replace = dying(os.replace)
aot_container.write_artifact(path, manifest, members)
print("saved", count)
"""


def test_a_kill_at_any_point_of_save_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "model.aot"
    old = {"payload": b"old"}
    aot_container.write_artifact(path, aot_container.with_members(Manifest(), old), old)
    before = path.read_bytes()
    seen = set()
    for point in range(40):
        path.write_bytes(before)
        done = subprocess.run(
            [sys.executable, "-c", KILLED_SAVE, str(point), str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        with open_any(path) as opened, make_temporary_folder() as folder:
            assert opened.artifact is not None
            opened.artifact.unpack(folder, opened.artifact.manifest.members)
            seen.add(len(opened.artifact.manifest.members))
        if "saved" in done.stdout:
            break
        assert done.returncode == -9, done.stderr
    assert point > 10
    assert seen == {1, 2}


def test_a_failed_save_leaves_no_part_behind(tmp_path: Path) -> None:
    manifest = aot_container.with_members(Manifest(), {"payload": b"x"})
    with pytest.raises(ArtifactError, match="Cannot write"):
        aot_container.write_artifact(tmp_path / "m.aot", manifest, {"payload": tmp_path / "none"})
    assert not list(tmp_path.iterdir())
    with pytest.raises(ArtifactError, match="Choose a folder that exists"):
        aot_container.write_artifact(tmp_path / "none" / "m.aot", manifest, {"payload": b"x"})


def test_the_manifest_is_plain_json(place: Path, store: TrustStore) -> None:
    with zipfile.ZipFile(write(place, store)) as archive:
        data = json.loads(archive.read("manifest.json"))
    assert data["schema"] == 1
    assert data["members"]["payload"]["sha256"]
