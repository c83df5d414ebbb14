"""What a saved file is, as tables of the report: facts, members, contract, requirements."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.artifacts.archive.file_kinds import OpenedFile, open_any
from workbench.artifacts.manifest.manifest import Build, Manifest, Versions
from workbench.artifacts.manifest.package_manifest import PackageManifest
from workbench.artifacts.preflight.check import check
from workbench.artifacts.trust.trust import TrustStore
from workbench.compiler.contract.contract import Contract, Leaf
from workbench.compiler.sizes import dims
from workbench.compiler.sources.sources import Places
from workbench.errors import ArtifactError
from workbench.report import Report, Table
from workbench.report.file_rows import ArtifactFact, ArtifactMember, ContractLeaf
from workbench.report.requirement_rows import Requirement
from workbench.report.tables import ARTIFACT_TABLES, FILE_TABLES, TABLES
from workbench.report.wbr_file import Lazy

_KEPT = 500  # members, the biggest ones
_SHOWN_PARAMETERS = 8  # of a module: the others are counted


def with_file(report: Report, path: str | PathLike[str], *, place: str | None = None) -> Report:
    """The report with what the file at `path` is now; `place` is shown in place of the path."""
    return replace(report, tables={**report.tables, **_tables(path, place)})


def add_saved_file(report: Report, path: str | PathLike[str], digest: str) -> Report:
    """The report with the file that was just written; somebody may have replaced it already."""
    return replace(report, tables={**report.tables, **_tables_if_same(path, digest)})


def add_file_later(report: Report, path: str | PathLike[str], digest: str) -> Report:
    """The same, but the file is read when somebody looks; by then it may be another one."""

    @cache
    def read() -> Mapping[str, Table[Any]]:
        return _tables_if_same(path, digest)

    def table(name: str) -> Callable[[], Table[Any]]:
        return lambda: (read() if name in ARTIFACT_TABLES else report.tables)[name]

    others = [name for name in report.tables if name not in ARTIFACT_TABLES]
    return replace(report, tables=Lazy({name: table(name) for name in (*others, *ARTIFACT_TABLES)}))


def drop_file(report: Report) -> Report:
    """The report without what is known of a file, as it travels in one."""
    if not any(name in report.tables for name in FILE_TABLES):
        return report
    others = {n: table for n, table in report.tables.items() if n not in FILE_TABLES}
    return replace(report, tables=others)


def _tables_if_same(path: str | PathLike[str], digest: str) -> Mapping[str, Table[Any]]:
    try:
        with open_any(path) as opened:
            if opened.digest == digest:
                return _tables(path, None)
        gone = "the file has changed since it was saved or loaded"
    except ArtifactError as error:
        gone = f"the file can no longer be read: {error}"
    facts = [
        ArtifactFact("Path", Places().shown(os.fspath(path))),
        ArtifactFact("Now", gone),
    ]
    return {
        **{name: Table.of(TABLES[name]) for name in ARTIFACT_TABLES},
        "artifact": Table.of(ArtifactFact, facts),
    }


def _tables(path: str | PathLike[str], place: str | None) -> Mapping[str, Table[Any]]:
    with open_any(path) as opened:
        described = _described(opened)
        facts = [
            ArtifactFact("Path", place or Places().shown(os.fspath(path))),
            ArtifactFact("Size", f"{opened.size} bytes"),
            ArtifactFact("Digest", opened.digest),
            ArtifactFact(
                "Vouched for", TrustStore.of_user().standing(opened.digest, opened.signed)
            ),
            *described.facts,
        ]
    try:
        requirements = check(path).requirements
    except ArtifactError:  # a file of torch's own records nothing
        requirements = ()
    more = max(0, len(described.members) - _KEPT)
    return {
        "artifact": Table.of(ArtifactFact, facts),
        "members": Table.of(ArtifactMember, described.members[:_KEPT], omitted=more),
        "contract": Table.of(ContractLeaf, described.contract),
        "requirements": Table.of(Requirement, requirements),
    }


@dataclass(frozen=True)
class _Described:
    facts: tuple[ArtifactFact, ...]
    members: tuple[ArtifactMember, ...] = ()
    contract: tuple[ContractLeaf, ...] = ()


def _described(opened: OpenedFile) -> _Described:
    manifest = opened.signed
    if isinstance(manifest, PackageManifest):
        return _package(manifest)
    if isinstance(manifest, Manifest):
        return _artifact(manifest)
    a_pickle = "a pickle of torch's save_compiled_function: loading it runs code"
    kind = a_pickle if opened.kind == "torch" else f"{opened.kind} of torch"
    return _Described((ArtifactFact("Kind", kind),))


def _artifact(manifest: Manifest) -> _Described:
    bundled = manifest.weights is not None
    has_receiver = manifest.contract.get("receiver") is not None
    weights = "in the file" if bundled else "passed at load: module=" if has_receiver else ""
    dropped = len(manifest.guards.get("dropped", ()))
    facts = (
        ArtifactFact("Kind", "compiled function (.aot)"),
        ArtifactFact("Made by", _made_by(manifest.versions)),
        ArtifactFact("Kernels for", _isa(manifest.builds)),
        *([ArtifactFact("Weights", weights)] if weights else []),
        *([ArtifactFact("Built for", manifest.built_for.title)] if manifest.built_for else []),
        ArtifactFact("Guards left out", str(dropped)),
        *_listed("Frozen at capture", _frozen(manifest)),
        *_listed("Passed at load", (*manifest.external_data, *manifest.missing_names)),
    )
    contract = Contract.from_json(manifest.contract["inputs"])
    return _Described(facts, tuple(_members(manifest)), tuple(_inputs(contract)))


def _frozen(manifest: Manifest) -> list[str]:
    """The places that the file goes on with as they were, each with its value."""
    listed = manifest.guards.get("dropped", ())
    rows = (row for row in listed if isinstance(row, dict) and row.get("frozen"))
    return [*dict.fromkeys(f"{row.get('place')} ({row['frozen']})" for row in rows)]


def _package(manifest: PackageManifest) -> _Described:
    models = manifest.models
    kernels = _isa([model.isa for model in models if model.isa is not None])
    facts = (
        ArtifactFact("Kind", "AOTInductor package (.pt2)"),
        ArtifactFact("Made by", _made_by(manifest.versions)),
        ArtifactFact("Kernels for", kernels),
        *_listed("Models", [model.name for model in models]),
        *_listed("Devices", dict.fromkeys(model.device for model in models)),
        *_listed("Weights", dict.fromkeys(model.weights for model in models)),
    )
    rows: list[ContractLeaf] = []
    for model in models:
        named = model.name if len(models) > 1 else ""
        rows += _inputs(Contract.from_json(model.contract), named)
        for n, output in enumerate(model.outputs):
            shape = f"[{', '.join(map(str, output.shape))}]" if output.type == "tensor" else ""
            dtype = output.dtype if output.type == "tensor" else output.type
            rows.append(ContractLeaf("output", f"out[{n}]", dtype, shape, model.device, named))
    return _Described(facts, tuple(_members(manifest)), tuple(rows))


def _made_by(versions: Versions) -> str:
    triton = f", triton {versions.triton}" if versions.triton else ""
    compiler = f"torch {versions.torch}{triton}, Python {versions.python}"
    return f"{compiler}, aot-workbench {versions.workbench}"


def _isa(builds: Iterable[Build]) -> str:
    return ", ".join(dict.fromkeys(build.name for build in builds)) or "no C++ kernels"


def _listed(name: str, values: Iterable[str]) -> list[ArtifactFact]:
    words = ", ".join(values)
    return [ArtifactFact(name, words)] if words else []


_WHAT = {  # by a member's name or its ending
    "report.wbr": "report",
    "payload": "guards, bytecode, program",
    "weights.safetensors": "weights",
    "skeleton": "module without its tensors",
    ".so": "library",
    ".cpp": "generated C++",
    ".h": "header",
    ".blob": "weights",
    ".o": "object code",
    ".json": "metadata",
    ".b64": "report",
    ".cubin": "GPU machine code",
}


def _members(manifest: Manifest | PackageManifest) -> Iterator[ArtifactMember]:
    """The members by size, biggest first."""
    for name, member in sorted(manifest.members.items(), key=lambda item: -item[1].size):
        what = _WHAT.get(name) or _WHAT.get(Path(name).suffix, "data of torch")
        yield ArtifactMember(name, what, member.size, member.sha256)


def _inputs(contract: Contract, model: str = "") -> Iterator[ContractLeaf]:
    """The leaves of a call; the module's own tensors after them, a few of many."""
    leaves = contract.leaves or ()
    own = [leaf for leaf in leaves if leaf.path.root == contract.receiver]
    yield from (_leaf(leaf, model) for leaf in leaves if leaf.path.root != contract.receiver)
    yield from (_leaf(leaf, model) for leaf in own[:_SHOWN_PARAMETERS])
    if len(own) > _SHOWN_PARAMETERS:
        left = len(own) - _SHOWN_PARAMETERS
        yield ContractLeaf("input", f"{left} more of {contract.receiver}", "", "", "", model)


def _leaf(leaf: Leaf, model: str) -> ContractLeaf:
    if leaf.kind != "tensor":
        return ContractLeaf("input", str(leaf.path), leaf.type, leaf.value, "", model)
    shape = dims.text(leaf.shape)
    return ContractLeaf("input", str(leaf.path), leaf.dtype, shape, leaf.device, model)
