"""Looking inside a file without executing anything from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import PurePosixPath

from workbench.artifacts.archive.aot_container import MANIFEST, PAYLOAD, SKELETON, WEIGHTS
from workbench.artifacts.archive.file_kinds import OpenedFile, find_pickle_start, open_any
from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.inspect.artifact_report import ArtifactReport
from workbench.artifacts.inspect.artifact_rows import DAMAGED, NOT_HASHED, WHOLE, MemberFacts
from workbench.artifacts.inspect.exported import read_exported_facts
from workbench.artifacts.inspect.file_facts import Facts, read_library_facts
from workbench.artifacts.inspect.functions import read_artifact_facts, read_torch_file_facts
from workbench.artifacts.inspect.opcodes import PickleFacts, read_pickle
from workbench.artifacts.inspect.packages import read_package_facts, read_torch_package_facts
from workbench.artifacts.inspect.pickles import find_pickles, imports, sort_worst_first, summaries
from workbench.artifacts.machine.elf import read_libraries
from workbench.artifacts.manifest.package_manifest import MANIFEST as PACKAGE_MANIFEST
from workbench.artifacts.trust.trust import TrustStore
from workbench.artifacts.zip_files.members import Members

HASHED = 64 << 20  # bytes of members that are compared with their hashes: about 0.05 s
_PICKLE_LIMIT = 256 << 20  # bytes; the memory that reading takes is about twice as much
_KINDS = {
    ".so": "library", ".cpp": "source", ".h": "source", ".json": "JSON", ".blob": "weights",
    ".cubin": "GPU code", ".hsaco": "GPU code", ".fatbin": "GPU code", ".ptx": "GPU code",
    ".b64": "report", ".wbr": "report", ".pt": "pickled tensors", ".safetensors": "weights",
}  # fmt: skip
_APART = ("values", "reports")  # no rows of one table
_NAMED = {
    MANIFEST: "manifest",
    PACKAGE_MANIFEST: "manifest",
    PAYLOAD: "pickle",
    SKELETON: "pickle",
    WEIGHTS: "weights",
}


def inspect(
    path: str | PathLike[str], *, verify: bool = False, store: TrustStore | None = None
) -> ArtifactReport:
    """Look inside a file of any kind; nothing from it is executed.

    Members are compared with their hashes, the smallest first, up to 64 MiB in all; with
    `verify=True` all of them are. Raises `ArtifactError` when it is no artifact or its frame is
    damaged; a damaged member is marked in the result.
    """
    with open_any(path, libraries=True) as opened:
        members = opened.artifact or opened.package
        pickles = dict(_pickles(opened))
        facts = read_facts(opened, pickles.values())
        # without a manifest the digest is that of all bytes: a big file would be read to its end
        is_long = opened.signed is None and opened.kind != "torch" and opened.size > HASHED
        digest = "" if is_long and not verify else opened.digest
        libraries = read_libraries(opened.library or members)
        return ArtifactReport(
            path=os.fspath(path),
            kind=opened.kind,
            digest=digest,
            signature=(store or TrustStore.of_user()).standing(digest, opened.signed),
            size=opened.size,
            manifest=opened.signed,
            members=tuple(_members(members, verify)) if members else (),
            pickles=tuple(pickles.items()),
            inputs=tuple(row for row in facts.values if row.direction == "input"),
            outputs=tuple(row for row in facts.values if row.direction == "output"),
            **vars(libraries),
            names=sort_worst_first(
                row for name, part in pickles.items() for row in imports(name, part)
            ),
            pickled=tuple(row for name, part in pickles.items() for row in summaries(name, part)),
            **{name: tuple(rows) for name, rows in vars(facts).items() if name not in _APART},
            reports=facts.reports,
        )


def read_facts(opened: OpenedFile, pickles: Iterable[PickleFacts] = ()) -> Facts:
    """What a file says about itself; the texts in its pickles where these were read."""
    if opened.library is not None:
        return read_library_facts(read_libraries(opened.library))
    if opened.artifact is not None:
        return read_artifact_facts(opened.artifact, pickles)
    if opened.package is None:
        content = opened.whole() if opened.size <= _PICKLE_LIMIT else b""
        return read_torch_file_facts(content[find_pickle_start(content) :], pickles)
    if opened.package.manifest is not None:
        return read_package_facts(opened.package, opened.package.manifest)
    if opened.kind == "torch package":
        return read_torch_package_facts(opened.package)
    return read_exported_facts(opened.package)


def _pickles(opened: OpenedFile) -> Iterator[tuple[str, PickleFacts]]:
    if opened.artifact is not None:
        for name in (PAYLOAD, SKELETON):
            if name in opened.artifact.entries:
                size = opened.artifact.size(name)
                content = opened.artifact.raw(name) if size <= _PICKLE_LIMIT else None
                yield name, _read(content, size)
    elif opened.package is not None:
        yield from find_pickles(opened.package)
    elif opened.library is None:
        content = opened.whole() if opened.size <= _PICKLE_LIMIT else None
        yield "file", _read(content, opened.size)


def _read(content: bytes | None, size: int) -> PickleFacts:
    if content is None:
        problem = f"not read: {size} bytes are more than {_PICKLE_LIMIT}"
        return PickleFacts(size, (), 0, complete=False, problem=problem)
    return read_pickle(content[find_pickle_start(content) :])


def _members(members: Members, verify: bool) -> Iterator[MemberFacts]:
    states = _states(members, verify)
    for name in members.entries:
        yield MemberFacts(
            name=name,
            kind=_NAMED.get(name) or _KINDS.get(PurePosixPath(name).suffix, "data"),
            size=members.size(name),
            state=states[name],
            sha256=_listed(members, name),
        )


def _states(members: Members, verify: bool) -> dict[str, str]:
    left = HASHED
    states: dict[str, str] = {}
    for name in sorted(members.entries, key=members.size):
        left -= members.size(name)
        if name in (MANIFEST, PACKAGE_MANIFEST):
            states[name] = WHOLE  # it was compared with itself when it was opened
        elif left < 0 and not verify:
            states[name] = NOT_HASHED
        else:
            states[name] = WHOLE if members.is_whole(name) else DAMAGED
    return states


def _listed(members: Members, name: str) -> str:
    is_torch = isinstance(members, OpenedPackage) and members.manifest is None
    return "" if is_torch or name in (MANIFEST, PACKAGE_MANIFEST) else members.hash_of(name) or ""
