"""One damaged or hostile file for every kind and number, the same ones in every run."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.faults.bytewise import damaged
from tests.faults.hostile import hostile_pickle
from tests.faults.manifests import other_manifest, relist
from tests.faults.reports import other_report
from tests.faults.zips import Archive, tricked
from workbench.artifacts.archive.package_container import REPORT_SUFFIX
from workbench.artifacts.zip_files.members import find_data_start, read_frame
from workbench.errors import WorkbenchError

PICKLES = ("torch artifact",)
OURS = ("artifact", "package")
_UNMAKEABLE = (ValueError, LookupError, TypeError, OSError, struct.error, zipfile.BadZipFile)


USED = (".so", "manifest.json")  # what runs; weights are compared while the model does


@dataclass(frozen=True)
class Mutation:
    """What was done to a file, and the file.

    `damaged` names the members that differ, where nothing but members does that loading a package
    does not read before it runs.
    """

    name: str
    content: bytes
    damaged: tuple[str, ...] = ()


class Mutator:
    """Makes the mutations of one file; `kind` is one of those in `samples`."""

    def __init__(self, kind: str, whole: bytes, marker: Path):
        self.kind = kind
        self.whole = whole
        self.marker = marker
        self._spots = () if kind in PICKLES else _frame(whole, marker)
        self._contents = None if kind in PICKLES else _contents(Archive.read(whole, marker))

    def mutation(self, number: int) -> Mutation:
        """Mutation `number`, never the file as it was."""
        rng = random.Random(f"{self.kind} {number}")
        while True:
            try:
                name, content = self._one(rng)
            except (*_UNMAKEABLE, WorkbenchError):
                continue
            if content != self.whole and not self._is_harmless(content, name):
                return Mutation(name, content, self._unused(content))

    def _one(self, rng: random.Random) -> tuple[str, bytes]:
        chance = rng.random()
        if self.kind in PICKLES:
            if chance < 0.5:
                return damaged(rng, self.whole, (range(min(400, len(self.whole))),))
            header = b"PT2AOT\x01" if rng.random() < 0.7 else b""  # without one it is refused
            return "hostile pickle", header + hostile_pickle(rng, self.marker)
        if chance < 0.4:
            return damaged(rng, self.whole, self._spots)
        archive = Archive.read(self.whole, self.marker)
        if self.kind in OURS and chance < 0.68:
            return other_manifest(rng, archive)
        if self.kind in OURS and chance < 0.76:
            return _with_report(rng, archive)
        return tricked(rng, archive, relist)

    def _is_harmless(self, content: bytes, name: str) -> bool:
        """Whether a trick left every member as it was: such a file may be loaded."""
        if self._contents is None or not name.startswith(("junk", "mode", "swap", "manifest")):
            return False  # damage to bytes is never harmless
        try:
            return _contents(Archive.read(content, self.marker)) == self._contents
        except (*_UNMAKEABLE, RuntimeError, NotImplementedError):
            return False

    def _unused(self, content: bytes) -> tuple[str, ...]:
        """The members that differ, if loading reads none of them first and all else is the same."""
        if self.kind != "package":
            return ()
        try:
            found, whole = _raw(content), _raw(self.whole)
        except WorkbenchError:
            return ()
        names = [name for name in found if found[name] != whole.get(name)]
        unused = found.keys() == whole.keys() and not any(name.endswith(USED) for name in names)
        return tuple(names) if unused else ()


def _with_report(rng: random.Random, archive: Archive) -> tuple[str, bytes]:
    at = archive.index(REPORT_SUFFIX)
    in_package = at is not None
    at = archive.index(".wbr") if at is None else at
    if at is None:
        return other_manifest(rng, archive)
    info, content = archive.members[at]
    archive.members[at] = (info, other_report(rng, content, in_package=in_package))
    if rng.random() < 0.8:
        relist(archive)
    return "report", archive.write(sealed=archive.sealed)


def _raw(content: bytes) -> dict[str, bytes]:
    """Every member as it is, also where its checksum says otherwise."""
    file = io.BytesIO(content)
    starts = [(entry, find_data_start(file, entry)) for entry in read_frame(file).entries]  # type: ignore[arg-type]
    return {entry.filename: content[at : at + entry.file_size] for entry, at in starts}


def _contents(archive: Archive) -> dict[str, object]:
    """Every member; the manifest without its signatures, which do not cover one another."""
    found: dict[str, object] = {info.filename: content for info, content in archive.members}
    for name in found:
        if name.endswith("manifest.json"):
            data = json.loads(archive.members[[*found].index(name)][1])
            found[name] = {**data, "signatures": ()} if isinstance(data, dict) else data
    return found


def _frame(whole: bytes, marker: Path) -> tuple[range, ...]:
    """Where headers, small members and the directory are."""
    archive = Archive.read(whole, marker)
    heads = [range(i.header_offset, i.header_offset + 40) for i, _ in archive.members]
    last = max(info.header_offset + info.file_size for info, _ in archive.members)
    small = [
        range(i.header_offset, i.header_offset + 60 + i.file_size)
        for i, content in archive.members
        if len(content) < 20_000
    ]
    return (*heads, *small, range(last, len(whole)), range(last, len(whole)))
