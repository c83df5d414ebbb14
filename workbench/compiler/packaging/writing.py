"""One or several models compiled and written as a package, in named steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import torch

from workbench.artifacts import package_report
from workbench.artifacts.container import private_folder
from workbench.artifacts.package_manifest import (
    FOLDER,
    PackagedModel,
    PackagedOutput,
    PackageManifest,
)
from workbench.artifacts.preflight import system_needs
from workbench.artifacts.trust import TrustStore
from workbench.compiler import torch_private as tp
from workbench.compiler.capture import Recorder
from workbench.compiler.first_compile import fast_start
from workbench.compiler.modes import merged_options
from workbench.compiler.packaging.archive import FIXED, Content, with_members, write_archive
from workbench.compiler.packaging.compiling import Built, build, options_for
from workbench.compiler.packaging.constants import placed, with_names
from workbench.compiler.packaging.contracts import ExportedContract, contract_of
from workbench.compiler.packaging.exporting import Exportable, export, exportable
from workbench.compiler.packaging.request import ModelRequest
from workbench.compiler.payload import native_build
from workbench.compiler.request import Progress
from workbench.compiler.saving import current_versions
from workbench.errors import UsageError
from workbench.report import Outcome, Report, Request
from workbench.report.storage import to_bytes

CODE_FOLDER = "data/aotinductor"


@dataclass(frozen=True)
class _Packed:
    model: PackagedModel
    members: Mapping[str, Content]


def write_package(
    requests: Sequence[ModelRequest],
    path: str | PathLike[str],
    *,
    progress: Progress | None = None,
    store: TrustStore | None = None,
) -> PackageManifest:
    """Compile every model and write the file atomically; returns its manifest."""
    target = _checked(path)
    with private_folder() as folder:
        packed = [_packed(request, folder, progress) for request in requests]
        members: dict[str, Content] = dict(FIXED)
        for part in packed:
            members.update(part.members)
        libraries = [members[part.model.library] for part in packed]
        manifest = PackageManifest(
            root=re.sub(r"[^A-Za-z0-9_.-]", "_", target.stem) or "model",
            models=tuple(part.model for part in packed),
            versions=current_versions(),
            needs=system_needs(_read(library) for library in libraries),
        )
        manifest = with_members(manifest, members)
        manifest = (store or TrustStore.of_user()).sign_if_possible(manifest)
        write_archive(target, manifest, members)
    return manifest


def _read(content: Content) -> bytes:
    return content if isinstance(content, bytes) else content.read_bytes()


def _checked(path: str | PathLike[str]) -> Path:
    target = Path(fspath(path))
    if target.suffix != ".pt2":
        raise UsageError(f"path is {str(target)!r}: the name of a package ends in .pt2.")
    return target


def _packed(request: ModelRequest, folder: Path, progress: Progress | None) -> _Packed:
    found = exportable(request)
    chosen, _ = merged_options("inductor", request.mode, request.options)
    options = options_for(request.weights, chosen)
    asked = Request(name=found.title, kind="package", mode=request.mode, capture=request.capture)
    recorder = Recorder(level=request.capture, request=asked)
    recorder.tell(progress)
    with tp.COMPILE_LOCK.get(), fast_start(), recorder:
        program = export(found, request)
        contract = contract_of(program, found.inputs, found.declared)
        built = build(program, options, folder / request.name)
        isa = native_build()
    return _collected(request, found, program, contract, built, recorder.report(Outcome()), isa)


def _collected(
    request: ModelRequest,
    found: Exportable,
    program: Any,
    contract: ExportedContract,
    built: Built,
    report: Report,
    isa: Any,
) -> _Packed:
    folder = f"{CODE_FOLDER}/{request.name}"
    members: dict[str, Content] = {f"{folder}/{name}": file for name, file in built.files.items()}
    page = f"{FOLDER}/{request.name}{package_report.SUFFIX}"
    members[page] = package_report.encode(to_bytes(report))
    blob = built.named("_weights.blob")
    place = None if blob is None else f"{folder}/{blob}"
    in_spec, out_spec = program.call_spec.in_spec, program.call_spec.out_spec
    dumps = tp.TREESPEC_DUMPS.get()
    model = PackagedModel(
        name=request.name,
        device=built.library.device,
        folder=folder,
        library=f"{folder}/{built.named('.so')}",
        contract=contract.to_json(),
        parameters=found.inputs.parameters,
        inputs=tuple(
            str(leaf.path) for leaf in contract.contract.leaves or () if leaf.kind == "tensor"
        ),
        outputs=tuple(_outputs(program)),
        in_spec=dumps(in_spec),
        out_spec=dumps(out_spec),
        constants=placed(with_names(built.library.constants, program), place),
        weights=request.weights,
        needs_proxy=built.library.needs_proxy,
        report=page,
        bucket=request.bucket,
        isa=isa,
    )
    return _Packed(model, members)


def _outputs(program: Any) -> Iterator[PackagedOutput]:
    """What the library returns: a handle for each leaf of the outputs."""
    nodes = {node.name: node.meta.get("val") for node in program.graph.nodes}
    for found in program.graph_signature.user_outputs:
        value = nodes.get(found) if isinstance(found, str) else found
        if isinstance(value, torch.Tensor):
            shape = tuple(n if isinstance(n, int) else str(n) for n in value.shape)
            yield PackagedOutput(str(value.dtype).removeprefix("torch."), shape)
        else:
            yield PackagedOutput("", (), _scalar(value))


def _scalar(value: Any) -> str:
    """The type of a Python value among the outputs, symbolic ones included."""
    symbolic = {torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool"}
    return symbolic.get(type(value), type(value).__name__)
