"""Tricks with zip files: what a foreign tool, or somebody who means harm, would write."""

from __future__ import annotations

import copy
import io
import random
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.faults.hostile import hostile_pickle
from workbench.artifacts.zip_files.members import seal

_NAMES = (
    *("../evil", "../../../../tmp/evil.so", "/etc/evil", "a/../../evil", "..", ".", "/"),
    *("payload", "manifest.json", "a\\b", "C:\\evil", "a\0b", "é", "‮gpj.so", "a" * 300),
    *("kernels/avx2/" + "0" * 64 + ".so", "m/data", "x/" * 200 + "y", "report.wbr", "\x1b[2J"),
)
_MODES = (stat.S_IFLNK | 0o777, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR | 0o755, 0o4755, 0)


@dataclass
class Archive:
    """A zip file taken apart; `root` is the folder that a `.pt2` has."""

    members: list[tuple[zipfile.ZipInfo, bytes]]
    sealed: bool = False
    marker: Path = Path()

    @classmethod
    def read(cls, content: bytes, marker: Path) -> Archive:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(info, archive.read(info)) for info in archive.infolist()]
            return cls(members, bool(archive.comment), marker)

    def index(self, end: str) -> int | None:
        """The member whose name ends so."""
        found = [i for i, (info, _) in enumerate(self.members) if info.filename.endswith(end)]
        return found[0] if found else None

    def write(self, *, sealed: bool) -> bytes:
        """The zip file; with the seal of the workbench where somebody took the trouble."""
        to = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(to, "w") as archive:
            warnings.simplefilter("ignore")  # two members with one name
            for info, content in self.members:
                entry = copy.copy(info)
                archive.writestr(entry, content, compress_type=entry.compress_type)
        if sealed:
            seal(to)  # type: ignore[arg-type]
        return to.getvalue()


def _new(name: str, mode: int = stat.S_IFREG | 0o600) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("x", (1980, 1, 1, 0, 0, 0))
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    return info


def _swap(rng: random.Random, a: Archive) -> None:
    i, j = rng.sample(range(len(a.members)), 2)
    (one, first), (two, second) = a.members[i], a.members[j]
    a.members[i], a.members[j] = (one, second), (two, first)


def _rename(rng: random.Random, a: Archive) -> None:
    i = rng.randrange(len(a.members))
    info, content = a.members[i]
    root = info.filename.partition("/")[0] + "/" if rng.random() < 0.5 else ""
    changed = _new(root + rng.choice(_NAMES))
    a.members[i] = (changed, content)


def _drop(rng: random.Random, a: Archive) -> None:
    del a.members[rng.randrange(len(a.members))]


def _duplicate(rng: random.Random, a: Archive) -> None:
    info, content = rng.choice(a.members)
    a.members.append((info, rng.choice((content, b"", b"other", content[::-1]))))


def _add(rng: random.Random, a: Archive) -> None:
    root = rng.choice(a.members)[0].filename.partition("/")[0] + "/" if rng.random() < 0.6 else ""
    a.members.append((_new(root + rng.choice(_NAMES), stat.S_IFREG | 0o600), b"/etc/passwd"))


def _mode(rng: random.Random, a: Archive) -> None:
    i = rng.randrange(len(a.members))
    info, content = a.members[i]
    changed = copy.copy(info)
    changed.external_attr = rng.choice(_MODES) << 16
    a.members[i] = (changed, content)


def _compress(rng: random.Random, a: Archive) -> None:
    """One member compressed, perhaps to a thousandth of what it unpacks to."""
    i = rng.randrange(len(a.members))
    info, content = a.members[i]
    changed = copy.copy(info)
    changed.compress_type = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    a.members[i] = (changed, content if rng.random() < 0.8 else bytes(10_000_000))


def _many(rng: random.Random, a: Archive) -> None:
    root = a.members[0][0].filename.partition("/")[0]
    a.members.extend((_new(f"{root}/{i}"), b"") for i in range(rng.choice((100, 3000))))


def _junk_extra(rng: random.Random, a: Archive) -> None:
    i = rng.randrange(len(a.members))
    info, content = a.members[i]
    changed = copy.copy(info)
    kinds = (1, 0x4246, 0x7075, 0xFFFF)
    changed.extra = struct.pack("<HH", rng.choice(kinds), rng.choice((0, 4, 24))) + rng.randbytes(
        rng.choice((0, 4, 24))
    )
    a.members[i] = (changed, content)


def _pickle(rng: random.Random, a: Archive) -> None:
    """A hostile pickle where pickles are read: in our payload, in torch's weights and inputs."""
    bad = hostile_pickle(rng, a.marker)
    root = a.members[0][0].filename.partition("/")[0]
    at = a.index("payload")
    if at is not None:
        a.members[at] = (a.members[at][0], bad)
        return
    places = ("data/sample_inputs/model.pt", "data/weights/w.pt", "data/constants/c.pt", "x.pkl")
    if rng.random() < 0.5:  # torch.save's own form: a zip in the zip
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as archive:
            archive.writestr("archive/data.pkl", bad)
        bad = inner.getvalue()
    a.members.append((_new(f"{root}/{rng.choice(places)}"), bad))


def _content(rng: random.Random, a: Archive) -> None:
    i = rng.randrange(len(a.members))
    info, content = a.members[i]
    other = (b"", b"\0" * 4096, content[: len(content) // 2], content * 2, rng.randbytes(500))
    a.members[i] = (info, rng.choice((*other, bytes([*content[:64][::-1]]) + content[64:])))


def _library(rng: random.Random, a: Archive) -> None:
    """Other ELF headers and tables in a library, which inspect reads."""
    at = a.index(".so")
    if at is None:
        _content(rng, a)
        return
    info, content = a.members[at]
    changed = bytearray(content)
    table = struct.unpack_from("<Q", content, 0x28)[0] if len(content) > 64 else 0
    spots = (range(4, 64), range(table, len(content)), range(64, min(4096, len(content))))
    for _ in range(rng.choice((1, 3, 20))):
        place = rng.choice(rng.choice([spot for spot in spots if spot] or [range(len(content))]))
        changed[place] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    a.members[at] = (info, bytes(changed))


TRICKS: tuple[Callable[[random.Random, Archive], None], ...] = (
    *(_swap, _rename, _drop, _duplicate, _add, _mode, _compress, _many, _junk_extra),
    *(_pickle, _content, _library),
)


def tricked(
    rng: random.Random, archive: Archive, relisted: Callable[[Archive], None]
) -> tuple[str, bytes]:
    """The name of a trick and the file; the manifest and the seal are made to fit at times."""
    trick = rng.choice(TRICKS)
    trick(rng, archive)
    name = trick.__name__.strip("_")
    if archive.sealed and rng.random() < 0.7:
        relisted(archive)
        return f"{name}, listed again", archive.write(sealed=True)
    return name, archive.write(sealed=archive.sealed and rng.random() < 0.5)
