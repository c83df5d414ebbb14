"""wb.sign: a signature added in place, nothing else in the file different."""

from __future__ import annotations

import os
import stat
import threading
import zipfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import workbench as wb
from tests.torchs_file import write_like_torch
from workbench.artifacts.archive import aot_container
from workbench.artifacts.archive.aot_container import MANIFEST
from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.manifest.package_manifest import PackageManifest
from workbench.artifacts.trust.trust import TrustStore, check_trust
from workbench.artifacts.zip_files.members import find_data_start
from workbench.compiler.packaging.writing import FIXED, with_members, write_archive

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER = Ed25519PrivateKey.from_private_bytes(b"x" * 32)
MEMBERS: dict[str, aot_container.Content] = {
    aot_container.PAYLOAD: b"\x80\x04N.",
    aot_container.WEIGHTS: bytes(range(256)) * 33,
    aot_container.SKELETON: b"\x80\x04N.",
}


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrustStore:
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(tmp_path / "data"))
    return TrustStore.of_user()


@pytest.fixture(params=[".aot", ".pt2"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"model{request.param}"
    if request.param == ".aot":
        manifest = aot_container.with_members(Manifest(contract={"a": 1}), MEMBERS)
        aot_container.write_artifact(path, manifest, MEMBERS)
    else:
        members = {**FIXED, **MEMBERS}
        write_archive(path, with_members(PackageManifest("model", ()), members), members)
    return path


def others(path: Path) -> list[tuple[str, bytes, int, tuple[int, ...]]]:
    """Everything in a file besides the manifest, and how its data are aligned."""
    with zipfile.ZipFile(path) as archive, open_any(path) as opened:
        found = [info for info in archive.infolist() if not info.filename.endswith(MANIFEST)]
        return [
            (i.filename, archive.read(i), find_data_start(opened.file, i) % 64, i.date_time)
            for i in found
        ]


def test_a_signature_changes_nothing_else(path: Path) -> None:
    before, digest, mode = others(path), wb.inspect(path).digest, path.stat().st_mode
    assert wb.sign(path, KEY) == digest
    assert wb.sign(path, OTHER) == digest
    assert others(path) == before
    assert path.stat().st_mode == mode
    wb.trust_key(KEY.public_key(), name="release")
    report = wb.inspect(path)
    assert report.signature == "signed by team key release"
    assert report.digest == digest
    assert not any(member.damaged for member in report.members)
    with open_any(path) as opened:
        assert opened.signed is not None
        check_trust(
            str(path), digest, trust=False, store=TrustStore.of_user(), manifest=opened.signed
        )
    assert {file.name for file in path.parent.iterdir()} == {"data", path.name}


def test_signing_twice_leaves_one_signature(path: Path) -> None:
    wb.sign(path, KEY)
    once = path.read_bytes()
    wb.sign(path, KEY)
    assert path.read_bytes() == once


def test_those_who_sign_at_once_all_leave_their_signature(path: Path) -> None:
    keys = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(6)]
    threads = [threading.Thread(target=wb.sign, args=(path, key)) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_any(path) as opened:
        assert len(opened.signed.signatures) == 6


def test_mode_and_link_of_the_file_stay(path: Path) -> None:
    path.chmod(0o640)
    link = path.with_name("link.aot")
    link.symlink_to(path)
    wb.sign(link, KEY)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert wb.inspect(path).signature == "signed by an unknown key"


def test_a_damaged_file_is_not_signed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(bytes(range(256)))] ^= 1
    path.write_bytes(content)
    with pytest.raises(wb.ArtifactError, match="was not signed: weights"):
        wb.sign(path, KEY)
    assert path.read_bytes() == bytes(content)


def test_a_file_of_torch_cannot_be_signed(tmp_path: Path) -> None:
    (tmp_path / "own.pt").write_bytes(write_like_torch())
    with pytest.raises(wb.UsageError, match="has no manifest to sign"):
        wb.sign(tmp_path / "own.pt", KEY)


def test_a_failed_signature_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(wb.ArtifactError, match="No space left on device"):
        wb.sign(path, KEY)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir() if file.is_file()] == [path.name]
