"""Every way in which a `.pt2` can be wrong: refused with its own error, nothing unpacked."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.artifacts import package_sample as sample
from workbench.artifacts.archive.package_container import OpenedPackage, read_package_container
from workbench.artifacts.manifest.package_manifest import MANIFEST
from workbench.artifacts.zip_files.members import read_frame, seal
from workbench.errors import ArtifactError

Edit = Callable[[zipfile.ZipFile], object]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    sample.write_package(tmp_path / "m.pt2")
    return tmp_path / "m.pt2"


def opened(path: Path, read: Callable[[OpenedPackage], object] = lambda package: None) -> None:
    with path.open("rb") as file:
        read(read_package_container(read_frame(file)))


def unpacked(path: Path, folder: Path) -> None:
    with path.open("rb") as file:
        package = read_package_container(read_frame(file))
        package.unpack(folder, package.entries)


def test_a_whole_package_is_read_and_unpacked(path: Path, tmp_path: Path) -> None:
    with path.open("rb") as file:
        package = read_package_container(read_frame(file))
        assert package.root == "m"
        assert package.manifest is not None
        assert [model.name for model in package.manifest.models] == ["model"]
        assert set(package.manifest.members) | {MANIFEST} == set(package.entries)
        found = package.unpack(tmp_path / "out", [sample.LIBRARY, sample.BLOB])
        assert found[sample.LIBRARY].read_bytes() == sample.SHARED_LIBRARY.read_bytes()
        at = package.offset(sample.BLOB)
        assert at % 64 == 0  # weights can be mapped where they are
        assert package.raw(sample.BLOB) == path.read_bytes()[at : at + 256]


def test_names_of_members_that_are_not_there_are_refused(path: Path) -> None:
    with pytest.raises(ArtifactError, match="has no member nothing"):
        opened(path, lambda package: package.raw("nothing"))


def test_a_flipped_bit_anywhere_is_found(tmp_path: Path) -> None:
    small = {**sample.parts(library=b"\x7fELF small"), "data/notes": b"text"}
    sample.write_package(tmp_path / "m.pt2", members=small)
    whole = (tmp_path / "m.pt2").read_bytes()
    damaged = tmp_path / "damaged.pt2"
    for at in range(0, len(whole), 7):
        content = bytearray(whole)
        content[at] ^= 1 << at % 8
        damaged.write_bytes(content)
        with pytest.raises(ArtifactError):
            unpacked(damaged, tmp_path / f"out{at}")


def rezip(path: Path, edit: Edit, skip: str = "") -> None:
    """Write the zip again with one thing different, sealed as a whole one."""
    with zipfile.ZipFile(path) as old:
        parts = [(info, old.read(info)) for info in old.infolist()]
    with zipfile.ZipFile(path, "w") as new:
        for info, content in parts:
            if not info.filename.endswith(skip or "\0"):
                new.writestr(info, content)
        edit(new)
    with path.open("r+b") as file:
        seal(file)


def member(name: str, mode: int = stat.S_IFREG | 0o600) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def add(name: str, mode: int = stat.S_IFREG | 0o600) -> Callable[[Path], None]:
    return lambda path: rezip(path, lambda zipped: zipped.writestr(member(name, mode), b"x"))


def compressed(path: Path) -> None:
    bomb = bytes(50_000_000)
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr(member("m/bomb"), bomb, compress_type=zipfile.ZIP_DEFLATED)


def hiding(path: Path) -> None:
    """The comment of the first member swallows the entries of the others."""
    content = bytearray(path.read_bytes())
    first = content.index(b"PK\1\2")
    end = content.rindex(b"PK\5\6")
    second = content.index(b"PK\1\2", first + 4)
    struct.pack_into("<H", content, first + 32, end - second)
    path.write_bytes(content)


def gap(path: Path) -> None:
    """Bytes between the last member and the directory that belong to nobody."""
    content = path.read_bytes()
    first, end = content.index(b"PK\1\2"), content.rindex(b"PK\5\6")
    moved = bytearray(content[end:])
    struct.pack_into("<I", moved, 16, first + 100)
    path.write_bytes(content[:first] + bytes(100) + content[first:end] + moved)


def unlisted(path: Path) -> None:
    rezip(path, lambda zipped: None, skip=sample.BLOB)


def other_size(path: Path) -> None:
    rezip(path, lambda z: z.writestr(member(f"m/{sample.BLOB}"), b"short"), skip=sample.BLOB)


def other_root(path: Path) -> None:
    with zipfile.ZipFile(path) as old:
        parts = [(info.filename.replace("m/", "n/", 1), old.read(info)) for info in old.infolist()]
    with zipfile.ZipFile(path, "w") as new:
        for name, content in parts:
            new.writestr(member(name), content)
    with path.open("r+b") as file:
        seal(file)


def patched(find: bytes, offset: int, layout: str, *values: int) -> Callable[[Path], None]:
    """Other numbers in the last record that starts with `find`."""

    def change(path: Path) -> None:
        content = bytearray(path.read_bytes())
        struct.pack_into(layout, content, content.rindex(find) + offset, *values)
        path.write_bytes(content)

    return change


def overlapping(path: Path) -> None:
    """The last member starts where the one before it does, with a header of its own name."""
    content = bytearray(path.read_bytes())
    entries = [at for at in range(len(content)) if content[at : at + 4] == b"PK\1\2"]
    first = struct.unpack_from("<I", content, entries[-2] + 42)[0]
    struct.pack_into("<I", content, entries[-1] + 42, first)
    path.write_bytes(content)


def zip64_lie(path: Path) -> None:
    """A directory of eight exabytes, says a zip64 record."""
    content = path.read_bytes()
    at = content.rindex(b"PK\5\6")
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 3, 3, 1 << 62, 0)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
    path.write_bytes(content[:at] + record + locator + content[at:])


def two_ends(path: Path) -> None:
    """A second, empty directory in the comment of the first: readers differ in which they take."""
    content = path.read_bytes()
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0, 0, 0, 0, 0)
    path.write_bytes(content[:-71] + end.ljust(71, b"\0"))


def prefixed(path: Path) -> None:
    path.write_bytes(b"#!/bin/sh\n" + path.read_bytes())


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "path traversal": (add("m/../../evil.so"), "unexpected member"),
    "absolute path": (add("/etc/evil"), "unexpected member|folders"),
    "backslash": (add("m\\..\\evil"), "unexpected member"),
    "control character": (add("m/a\nb"), "unexpected member"),
    "empty part": (add("m//evil"), "unexpected member"),
    "dot": (add("m/./evil"), "unexpected member"),
    "long name": (add("m/" + "x" * 300), "unexpected member"),
    "folder": (add("m/data/"), "unexpected member"),
    "file and folder": (add(f"m/{sample.BLOB}/x"), "a file and a folder"),
    "second root": (add("n/x"), "2 folders, but a .pt2 has one"),
    "link": (add("m/link", stat.S_IFLNK | 0o777), "link or encrypted"),
    "device": (add("m/device", stat.S_IFCHR | 0o600), "link or encrypted"),
    "duplicate": (add(f"m/{sample.BLOB}"), "two members with one name"),
    "unlisted": (add("m/data/extra"), "data/extra does not match the manifest"),
    "missing member": (unlisted, "does not match the manifest"),
    "other size": (other_size, "does not match the manifest"),
    "other root": (other_root, "damaged or not written by"),
    "compressed bomb": (compressed, "is compressed"),
    "encrypted": (patched(b"PK\1\2", 8, "<H", 1), "link or encrypted"),
    "other header": (patched(b"PK\3\4", 14, "<I", 7), "header of .* does not match"),
    "huge member": (patched(b"PK\1\2", 20, "<II", 0xFFFFFFF0, 0xFFFFFFF0), "larger than the file"),
    "hidden members": (hiding, "hides members"),
    "gap": (gap, "hide bytes"),
    "overlapping": (overlapping, "overlap|does not match the zip directory"),
    "data descriptor": (patched(b"PK\3\4", 6, "<H", 8), "does not match the zip directory"),
    "zip64 lie": (zip64_lie, "was not read"),
    "two directories": (two_ends, "end record is wrong|directory is missing"),
    "prefix": (prefixed, "directory is missing"),
    "truncated": (lambda p: p.write_bytes(p.read_bytes()[:-200]), "directory is missing"),
    "appended": (lambda p: p.write_bytes(p.read_bytes() + b"x"), "end record is wrong"),
    "no members": (lambda p: zipfile.ZipFile(p, "w").close(), "0 folders"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_package_is_refused_with_its_own_error(fault: str, path: Path) -> None:
    damage, message = FAULTS[fault]
    damage(path)
    with pytest.raises(ArtifactError, match=message):
        opened(path)
    assert [found.name for found in path.parent.iterdir()] == ["m.pt2"]


def test_a_model_that_names_what_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    for wrong, message in (
        (sample.model(library="../../etc/passwd"), "which model model needs, is missing"),
        (sample.model(constants=(sample.weight(256, "nothing"),)), "is missing"),
        (sample.model(constants=(sample.weight(257),)), "does not fit inside"),
        (sample.model(constants=(replace(sample.weight(), offset=-8),)), "does not fit inside"),
    ):
        sample.write_package(path, wrong)
        with pytest.raises(ArtifactError, match=message):
            opened(path)


def test_two_models_of_one_name_are_refused(path: Path) -> None:
    sample.write_package(path, sample.model(), sample.model())
    with pytest.raises(ArtifactError, match="two models with one name"):
        opened(path)


def test_an_archive_of_torch_needs_no_manifest_but_whole_members(tmp_path: Path) -> None:
    path = tmp_path / "torch.pt2"
    write_as_torch(path, {"archive_format": b"pt2", "data/aotinductor/model/a.so": b"library"})
    with path.open("rb") as file:
        package = read_package_container(read_frame(file))
        assert package.manifest is None
        assert package.raw("archive_format") == b"pt2"
        package.unpack(tmp_path / "out", package.entries)
    path.write_bytes(path.read_bytes().replace(b"library", b"Library"))
    with path.open("rb") as file, pytest.raises(ArtifactError, match="has the wrong hash"):
        read_package_container(read_frame(file)).unpack(tmp_path / "again", package.entries)


def test_what_follows_the_data_of_a_member_must_be_right(tmp_path: Path) -> None:
    path = tmp_path / "torch.pt2"
    write_as_torch(path, {"archive_format": b"pt2"})
    patched(b"PK\7\x08", 8, "<I", 4)(path)
    with pytest.raises(ArtifactError, match="the data after torch/archive_format"):
        opened(path)


def test_a_member_of_few_bytes_that_has_many_is_foreign(tmp_path: Path) -> None:
    path = tmp_path / "torch.pt2"
    write_as_torch(path, {"archive_format": b"pt2" * 100, "data/a": b""})
    with pytest.raises(ArtifactError, match="archive_format has 300 bytes, more than 64"):
        opened(path)


def write_as_torch(path: Path, members: dict[str, bytes]) -> None:
    """An archive in the layout of torch's own writer: sizes after the data, padding before."""
    out, directory = io.BytesIO(), b""
    for name, content in members.items():
        full, start = f"torch/{name}".encode(), out.tell()
        padding = -(start + 30 + len(full) + 4) % 64
        extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding
        out.write(
            struct.pack(
                "<4sHHHHHIIIHH", b"PK\3\4", 0, 0x808, 0, 0, 0, 0, 0, 0, len(full), len(extra)
            )
            + full
            + extra
            + content
        )
        crc, size = zlib.crc32(content), len(content)
        out.write(struct.pack("<4sIII", b"PK\7\x08", crc, size, size))
        directory += (
            struct.pack(
                "<4sHHHHHHIIIHHHHHII",
                b"PK\1\2",
                0,
                0,
                0x808,
                0,
                0,
                0,
                crc,
                size,
                size,
                len(full),
                0,
                0,
                0,
                0,
                0,
                start,
            )
            + full
        )
    at, count = out.tell(), len(members)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(directory), at, 0)
    path.write_bytes(out.getvalue() + directory + end)


def test_a_directory_without_bound_is_not_read() -> None:
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 9, 9, 100 << 20, 0, 0)
    with pytest.raises(ArtifactError, match="was not read"):
        read_frame(io.BytesIO(bytes(1000) + end))
