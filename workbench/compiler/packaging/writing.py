"""Packages written: several models, one for several sizes, a variant beside the others."""

from __future__ import annotations

import re
import shutil
import stat
import struct
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch.export import ExportedProgram

from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.archive.package_container import REPORT_SUFFIX, encode_report
from workbench.artifacts.manifest.manifest import Build, Versions
from workbench.artifacts.manifest.package_manifest import (
    FOLDER,
    MANIFEST,
    PackagedModel,
    PackageManifest,
)
from workbench.artifacts.preflight.preflight import BUILD_FLAGS, read_system_needs
from workbench.artifacts.trust.trust import TrustStore, check_trust
from workbench.artifacts.zip_files.members import Content, listed, write_whole_zip
from workbench.compiler.aot_files.writing.serialized import find_native_build
from workbench.compiler.aot_files.writing.written_artifact import read_current_versions
from workbench.compiler.cold_start.compile_cache import start_fast
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.cpython_costs import gc_throttle
from workbench.compiler.internals.torch_state import GlobalState
from workbench.compiler.package_calls.bucket_sizes import Bucketing
from workbench.compiler.packaging.bucketed_package import request_every_size
from workbench.compiler.packaging.contracts import (
    ExportedContract,
    build_contract,
    build_outputs,
    check_example,
    check_inputs,
    memory_of,
)
from workbench.compiler.packaging.diagnosis import explain_compile
from workbench.compiler.packaging.exporting import Exportable, Exported, check_exportable, export
from workbench.compiler.packaging.inductor_library import (
    BuildLibrary,
    Built,
    build,
    build_inductor_options,
    kept,
    list_constant_names,
    make_shareable,
)
from workbench.compiler.packaging.outputs import register_node_keys
from workbench.compiler.packaging.package_request import LATER, Buckets, ModelRequest
from workbench.compiler.packaging.size_trials import build_untried_contract, tried
from workbench.compiler.pipeline.modes import merge_options
from workbench.compiler.pipeline.pipeline import recorded
from workbench.compiler.recording.recorder import Recorder
from workbench.errors import ArtifactError, UsageError
from workbench.file_path import check_file_path
from workbench.report import Outcome, Report, Request
from workbench.tasks.progress_events import ProgressCallback
from workbench.temporary import make_temporary_folder


def write_package(
    requests: Sequence[ModelRequest],
    path: str | PathLike[str],
    *,
    progress: ProgressCallback | None = None,
    store: TrustStore | None = None,
    bucketing: Bucketing | None = None,
    build: BuildLibrary = build,
) -> PackageManifest:
    """Compile every model and write the file atomically; returns its manifest.

    An error or an interrupt leaves no file and no folder behind.
    """
    target = _check_path(path)
    with make_temporary_folder() as folder:
        packed = [pack(one, folder / one.name, progress, build) for one in requests]
        members: dict[str, Content] = dict(FIXED)
        for part in packed:
            members.update(part.members)
        manifest = PackageManifest(
            root=re.sub(r"[^A-Za-z0-9_.-]", "_", target.stem),
            models=tuple(part.model for part in packed),
            versions=_versions(packed),
            needs=read_system_needs(_content(members[part.model.library]) for part in packed),
            bucketing=None if bucketing is None else bucketing.to_json(),
        )
        manifest = with_members(manifest, members)
        manifest = (store or TrustStore.of_user()).sign_if_possible(manifest)
        write_archive(target, manifest, members)
    return manifest


def write_bucketed(
    request: ModelRequest,
    path: str | PathLike[str],
    wanted: Buckets,
    progress: ProgressCallback | None = None,
) -> PackageManifest:
    """Compile every size of what `request` asks for and write the file; returns its manifest."""
    requests, bucketing = request_every_size(request, wanted)
    return write_package(requests, path, progress=progress, bucketing=bucketing)


def _versions(packed: Sequence[Packed]) -> Versions:
    """The releases here; of torch that which the libraries are for."""
    named = [part.model.torch for part in packed if part.model.torch]
    return replace(read_current_versions(), torch=named[0]) if named else read_current_versions()


def _content(content: Content) -> bytes:
    """The bytes of a member that is to be written."""
    return content if isinstance(content, bytes) else content.read_bytes()


def _check_path(path: str | PathLike[str]) -> Path:
    """The path of the file, refused before anything is compiled for it."""
    target = Path(check_file_path(path))
    if target.suffix != ".pt2":
        raise UsageError(f"path is {str(target)!r}: the name of a package must end in .pt2.")
    if not target.parent.is_dir():
        raise ArtifactError(
            f"Cannot write {target}: {target.parent} is not a folder. Make it first."
        )
    return target


@dataclass(frozen=True)
class _Kept:
    """The other variants of a file, their members copied out of it."""

    models: tuple[PackagedModel, ...] = ()
    members: Mapping[str, Content] = field(default_factory=dict)


def write_variant(
    request: ModelRequest,
    path: str | PathLike[str],
    *,
    progress: ProgressCallback | None = None,
    store: TrustStore | None = None,
    build: BuildLibrary = build,
) -> PackageManifest:
    """Compile the variant that `request` names into a file, beside those that it holds.

    Raises `UsageError` where the file holds something else or its variants are called in another
    way, and `TrustError` where nobody vouched for it: what is written is signed by this user.
    """
    target, store = _check_path(path), store or TrustStore.of_user()
    with (
        make_temporary_folder() as folder,
        _others(target, request.name, folder / "kept", store) as others,
    ):
        packed = pack(request, folder / request.name, progress, build)
        model = _described(packed)
        for other in others.models:
            _check_alike(model, other, target)
        members = {**FIXED, **others.members, **packed.members}
        manifest = PackageManifest(
            root=re.sub(r"[^A-Za-z0-9_.-]", "_", target.stem),
            models=(*others.models, model),
            versions=read_current_versions(),
            needs=read_system_needs(_content(members[m.library]) for m in (*others.models, model)),
            are_variants=True,
        )
        manifest = store.sign_if_possible(with_members(manifest, members))
        write_archive(target, manifest, members)
    return manifest


def _described(packed: Packed) -> PackagedModel:
    """The variant with what its own library needs of a machine."""
    model = packed.model
    needs = read_system_needs([_content(packed.members[model.library])])
    return replace(model, torch=model.torch or read_current_versions().torch, needs=needs)


@contextmanager
def _others(target: Path, name: str, folder: Path, store: TrustStore) -> Iterator[_Kept]:
    """The variants of the file that is there but the one of this name; none where there is none."""
    if not target.exists():
        yield _Kept()
        return
    with open_any(target) as opened:
        package = opened.package
        manifest = None if package is None else package.manifest
        if package is None or manifest is None or not manifest.are_variants:
            raise UsageError(
                f"{target} exists and holds no variants. Choose another path, or package "
                "every variant, including the first, with variant=…"
            )
        check_trust(str(target), opened.digest, trust=False, store=store, manifest=manifest)
        if len(manifest.signatures) > 1:
            warnings.warn(
                f"{target} was signed by a team, but its content has changed; sign it again with "
                "wb.sign.",
                stacklevel=2,
            )
        models = tuple(model for model in manifest.models if model.name != name)
        owned = tuple(f"{model.folder}/" for model in models)
        reports = {model.report for model in models}
        members = [n for n in manifest.members if n.startswith(owned) or n in reports]
        yield _Kept(models, dict(package.unpack(folder, members)))


def _check_alike(model: PackagedModel, other: PackagedModel, target: Path) -> None:
    """Raise `UsageError` unless both are called in one way and give outputs of one form."""
    compared = {
        "parameters": (_names(model), _names(other)),
        "inputs": (model.inputs, other.inputs),
        "input structures": (model.in_spec, other.in_spec),
        "outputs": (model.out_spec, other.out_spec),
    }
    for what, (new, old) in compared.items():
        if new != old:
            details = f": {list(new)} and {list(old)}" if isinstance(new, tuple) else ""
            raise UsageError(
                f"The {what} of {model.name!r} differ from those of variant {other.name!r} of "
                f"{target}{details}. Variants share one model: write a different model to its own "
                "file."
            )


def _names(model: PackagedModel) -> tuple[str, ...]:
    return tuple(str(parameter[0]) for parameter in model.parameters)


ALIGNMENT = 64  # bytes; torch's own, so that weights can be mapped where they are
FIXED: Mapping[str, bytes] = {
    "archive_format": b"pt2",
    "archive_version": b"0",
    "byteorder": b"little",
    ".data/version": b"6\n",
}
"""The members by which torch knows its archives; what `PT2ArchiveWriter` writes."""
_CHUNK = 1 << 20
_DATE = (1980, 1, 1, 0, 0, 0)
_HEADER = 30
_ZIP64_EXTRA = 20
_PADDING_ID = 0x4246  # "FB", as torch marks its padding


def write_archive(path: Path, manifest: PackageManifest, members: Mapping[str, Content]) -> None:
    """Write the package atomically: a reader sees the old file or the whole new one.

    Raises `ArtifactError` when the file cannot be written.
    """
    with write_whole_zip(path) as (archive, file):
        for name, content in {**members, MANIFEST: manifest.to_bytes()}.items():
            _write(archive, file, f"{manifest.root}/{name}", content)


def _write(archive: zipfile.ZipFile, file: BinaryIO, name: str, content: Content) -> None:
    info = zipfile.ZipInfo(name, _DATE)
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    info.file_size = len(content) if isinstance(content, bytes) else content.stat().st_size
    is_big = info.file_size * 1.05 > zipfile.ZIP64_LIMIT  # as zipfile itself decides
    header = _HEADER + len(name.encode()) + (_ZIP64_EXTRA if is_big else 0)
    info.extra = _padding(archive.start_dir, header)
    with archive.open(info, "w", force_zip64=is_big) as to:
        if isinstance(content, bytes):
            to.write(content)
            return
        with content.open("rb") as source:
            shutil.copyfileobj(source, to, _CHUNK)


def _padding(start: int, header: int) -> bytes:
    """An extra field after which the data start at a multiple of the alignment."""
    size = -(start + header + 4) % ALIGNMENT
    return struct.pack("<HH", _PADDING_ID, size) + bytes(size)


def with_members(manifest: PackageManifest, members: Mapping[str, Content]) -> PackageManifest:
    """The manifest with size and hash of every member but itself."""
    return replace(manifest, members=listed(members))


_V2 = ("popcnt", "sse4_1", "sse4_2", "ssse3")
_V3 = (*_V2, "abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")
_LEVELS: Mapping[str, tuple[str, ...]] = {
    "x86-64": (),
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
"""The processor flags that each level of the x86-64 psABI needs, as /proc/cpuinfo names them."""


def build_of(options: Mapping[str, Any]) -> Build:
    """The build that these options of Inductor make here.

    It needs the whole processor, as `-march=native` does, unless `cpp.march` names a level of
    x86-64: then that level, and what the vectors that torch picks need.
    """
    config = tp.INDUCTOR_CONFIG.get()
    mine = {name: value for name, value in options.items() if name.startswith("cpp.")}
    with config.patch({name: value for name, value in mine.items() if hasattr(config, name)}):
        native = find_native_build()
        level = str(mine.get("cpp.march"))
        if level not in _LEVELS:
            return native
        vectors = str(tp.PICK_VEC_ISA.get()().build_arch_flags() or "").split()
    spellings = {flag.replace("_", ""): flag for flag in BUILD_FLAGS}  # the compiler's are without
    vector_names = (re.sub(r"^-?m|[-_]", "", vector) for vector in vectors)
    named = {spellings[flag] for flag in vector_names if flag in spellings}
    flags = tuple(sorted({*_LEVELS[level], *named}))
    return Build(f"{native.isa}-{level}" if named else level, native.isa, flags)


# fmt: off
_OF_TORCH = frozenset((  # registered by `import torch`
    "_c10d_functional", "_c10d_functional_autograd", "_dtensor", "_quantized", "_test", "aten",
    "c10d", "c10d_functional", "cuda", "debugprims", "export", "fsdp", "higher_order", "inductor",
    "inductor_prims", "mkl", "mkldnn", "mkldnn_prepacked", "mkldnn_reorder", "onednn", "prepacked",
    "prim", "prims", "profiler", "quantized", "quantized_decomposed", "rngprims", "sparse",
    "static_runtime", "symm_mem", "xnnpack",
))
# fmt: on


def find_custom_operators(program: ExportedProgram) -> tuple[str, ...]:
    """Names such as `mine::scale.default` of the operators that torch itself does not register."""
    return tuple(sorted(set(_list_custom_operators(program.graph_module))))


def _list_custom_operators(module: torch.nn.Module) -> Iterator[str]:
    for part in module.modules():  # branches of a condition are graphs of their own
        if isinstance(part, torch.fx.GraphModule):
            for node in part.graph.nodes:
                namespace = getattr(node.target, "namespace", None)
                if namespace is not None and namespace not in _OF_TORCH:
                    yield f"{namespace}::{str(node.target).partition('.')[2]}"


CODE_FOLDER = "data/aotinductor"
_NO_GRAPHS = (
    "CUDA graphs (mode='reduce-overhead', triton.cudagraphs) have no effect in a package: Python "
    "records them at run time, but a package's library launches its kernels itself. It is compiled "
    "as if they were off"
)
_OPERATORS = (
    "it calls {}, which is not in the file: register custom operators wherever it is loaded "
    "(import their module, or torch.ops.load_library(path))"
)


@dataclass(frozen=True)
class Packed:
    """One model as the manifest lists it, with the members that belong to it."""

    model: PackagedModel
    members: Mapping[str, Content]
    report: Report


@dataclass
class _Run:
    """What the steps hand to one another."""

    found: Exportable
    options: Mapping[str, Any]
    recorder: Recorder
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


@gc_throttle()
@register_node_keys()
def pack(
    request: ModelRequest,
    folder: Path,
    progress: ProgressCallback | None = None,
    build: BuildLibrary = build,
) -> Packed:
    """Capture and compile one model, recording every step.

    Raises `UsageError` for a request that cannot be and `CaptureError` for a model that cannot be
    packaged; the report of what was done until then is on the exception.
    """
    model = check_exportable(request)
    chosen, notes = merge_options("inductor", request.mode, request.options)
    recorder = Recorder(level=request.capture, request=_request(model, chosen, notes))
    recorder.tell(progress)
    model = replace(model, sizes=recorder.sizes)
    if chosen.get("triton.cudagraphs"):
        notes = (*notes, _NO_GRAPHS)
    run = _Run(model, build_inductor_options(request.weights, chosen), recorder, notes=list(notes))

    def keep_notes() -> None:
        recorder.request = replace(recorder.request, notes=tuple(run.notes))

    with (
        recorded(recorder, lambda error: explain_compile(error, model.title), keep_notes),
        tp.COMPILE_LOCK.get(),
        start_fast(),
        recorder,
        model.outputs.as_dicts(model.module),
    ):
        with _step(recorder, "export"):
            exported = export(model)
            recorder.graphs.keep_exported(exported.program.graph_module)
            check_inputs(model, exported.program)
            if isinstance(request.model, ExportedProgram):
                check_example(model, exported.program)
            memory_of(exported.program, model.inputs)
            build_outputs(exported.program)
        with _step(recorder, "compile"):
            example = model.request.args, model.request.kwargs
            options, any_size = run.options, exported.any_size
            built = build(exported.program, example, options, folder, any_size=any_size)
        with _step(recorder, "contract"):
            contract = _contract(run, exported, built)
        isa = build_of(run.options)
    report = _report(run, exported, contract)
    if built.elsewhere is not None:
        report = _report_of_elsewhere(report, built.elsewhere.report)
    return _packed(run, exported, built, contract, report, isa)


@contextmanager
def _step(recorder: Recorder, name: str) -> Iterator[None]:
    recorder.step = name
    recorder.phases.mark(f"package: {name}", is_begin=True)
    try:
        yield
    finally:
        recorder.phases.mark(f"package: {name}", is_begin=False)


def _contract(run: _Run, exported: Exported, built: Built) -> ExportedContract:
    run.notes += exported.notes
    if operators := find_custom_operators(exported.program):
        run.notes.append(_OPERATORS.format(", ".join(operators)))
    contract = build_contract(exported.program, run.found.inputs, run.found.declared)
    built = replace(built, assumed=tuple(contract.names.shown(text) for text in built.assumed))
    if built.elsewhere is None:
        contract, notes = tried(run.found, exported, built, contract)
    else:
        contract, notes = build_untried_contract(exported, built, contract)
        notes = (*built.elsewhere.notes, *notes)
    run.extra["assumed_while_compiling"] = list(built.assumed)
    for note in notes:
        warnings.warn(f"{run.found.title}: {note}", stacklevel=2)
    run.notes += notes
    run.notes += [
        f"torch assumes {guard}, but calls are not checked for it" for guard in contract.unsaid
    ]
    return contract


def _report(run: _Run, exported: Exported, contract: ExportedContract) -> Report:
    leaves = [leaf for leaf in contract.contract.leaves or () if leaf.kind == "tensor"]
    inputs = tuple(f"{leaf.path}: {leaf.text}" for leaf in leaves)
    request = replace(run.recorder.request, notes=tuple(run.notes), inputs=inputs)
    request = replace(request, conditions=contract.guards)
    run.recorder.request = request
    report = run.recorder.report(Outcome())
    facts = {
        "range_constraints": {name: list(bounds) for name, bounds in contract.ranges.items()},
        "shape_guards": list(contract.guards),
        "graph_signature": str(exported.program.graph_signature),
        "weights": run.found.request.weights,
        **run.extra,
    }
    return replace(report, extra={**report.extra, "package": facts})


def _request(subject: Exportable, chosen: Mapping[str, Any], notes: tuple[str, ...]) -> Request:
    """What was asked for, as the record has it."""
    request, state = subject.request, GlobalState.current()
    return Request(
        name=subject.title,
        kind="package",
        mode=request.mode,
        options=tuple((name, repr(value)) for name, value in sorted(chosen.items())),
        grad=False,
        autocast=state.autocast,
        training=None if isinstance(request.model, ExportedProgram) else subject.module.training,
        guards="contract",
        capture=request.capture,
        dynamic_shapes=None if request.dynamic_shapes is None else str(request.dynamic_shapes),
        notes=notes,
    )


def _report_of_elsewhere(report: Report, there: Report) -> Report:
    """The record of a compilation in another process, with what was asked for here."""
    target = there.request.target
    request = replace(report.request, target=target)
    return replace(there, request=request, extra={**there.extra, **report.extra})


def _packed(
    run: _Run,
    exported: Exported,
    built: Built,
    contract: ExportedContract,
    report: Report,
    isa: Build,
) -> Packed:
    request, program = run.found.request, exported.program
    folder = f"{CODE_FOLDER}/{request.name}"
    page = f"{FOLDER}/{request.name}{REPORT_SUFFIX}"
    members = {f"{folder}/{name}": make_shareable(file) for name, file in built.files.items()}
    members[page] = encode_report(report.to_bytes())
    blob = built.named("_weights.blob")
    place = None if blob is None else f"{folder}/{blob}"
    constants = tuple(
        replace(row, member=place, offset=0 if place is None else row.offset)
        for row in list_constant_names(built.library.constants, program)
    )
    if request.weights == LATER or built.elsewhere is not None:
        rest = f"{folder}/{request.name}.constants"
        is_all = request.weights != LATER
        constants, content = kept(built.library, constants, program, rest, is_all=is_all)
        members.update({rest: content} if content else {})
    leaves = contract.contract.leaves or ()
    dumps = tp.TREESPEC_DUMPS.get()
    there = built.elsewhere
    model = PackagedModel(
        name=request.name,
        device=built.library.device,
        folder=folder,
        library=f"{folder}/{built.named('.so')}",
        contract=contract.to_json(),
        parameters=run.found.inputs.parameters,
        inputs=tuple(str(leaf.path) for leaf in leaves if leaf.kind == "tensor"),
        outputs=build_outputs(program, contract.names),
        in_spec=dumps(program.call_spec.in_spec),
        out_spec=run.found.outputs.specification(dumps(program.call_spec.out_spec)),
        constants=constants,
        weights=request.weights,
        needs_proxy=built.library.needs_proxy,
        report=page,
        bucket=request.bucket,
        isa=isa,
        operators=find_custom_operators(program),
        torch=there.torch if there else "",
        target=there.target if there else "",
        arch=there.arch if there else "",
    )
    return Packed(model, members, report)
