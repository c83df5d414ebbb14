"""Packages written: several models, one for several sizes, a variant beside the others."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.manifest.manifest_json import Versions
from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.artifacts.preflight.preflight import read_system_needs
from workbench.artifacts.trust.trust import TrustStore, check_trust
from workbench.artifacts.zip_files.members import Content
from workbench.compiler.aot_files.writing.written_artifact import read_current_versions
from workbench.compiler.package_calls.bucket_sizes import Bucketing
from workbench.compiler.packaging.archive import FIXED, with_members, write_archive
from workbench.compiler.packaging.bucketed_package import request_every_size
from workbench.compiler.packaging.inductor_library import BuildLibrary, build
from workbench.compiler.packaging.package_request import Buckets, ModelRequest
from workbench.compiler.packaging.packing import Packed, pack
from workbench.errors import ArtifactError, UsageError
from workbench.file_path import check_file_path
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
        raise UsageError(f"path is {str(target)!r}: the name of a package ends in .pt2.")
    if not target.parent.is_dir():
        raise ArtifactError(f"Cannot write {target}: {target.parent} is no folder. Make it first.")
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
        _others(target, request.name, folder / "kept", store) as kept,
    ):
        packed = pack(request, folder / request.name, progress, build)
        made = _described(packed)
        for other in kept.models:
            _check_alike(made, other, target)
        members = {**FIXED, **kept.members, **packed.members}
        manifest = PackageManifest(
            root=re.sub(r"[^A-Za-z0-9_.-]", "_", target.stem),
            models=(*kept.models, made),
            versions=read_current_versions(),
            needs=read_system_needs(_content(members[m.library]) for m in (*kept.models, made)),
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
                f"{target} is there and holds no variants: choose another path, or make each "
                "variant with variant=…, the first one too."
            )
        check_trust(str(target), opened.digest, trust=False, store=store, manifest=manifest)
        if len(manifest.signatures) > 1:
            warnings.warn(
                f"{target} was signed by a team: what it holds is another content now, which "
                "wb.sign signs.",
                stacklevel=2,
            )
        models = tuple(model for model in manifest.models if model.name != name)
        owned = tuple(f"{model.folder}/" for model in models)
        reports = {model.report for model in models}
        kept = [n for n in manifest.members if n.startswith(owned) or n in reports]
        yield _Kept(models, dict(package.unpack(folder, kept)))


def _check_alike(made: PackagedModel, other: PackagedModel, target: Path) -> None:
    """Raise `UsageError` unless both are called in one way and give outputs of one form."""
    compared = {
        "parameters": (_names(made), _names(other)),
        "inputs": (made.inputs, other.inputs),
        "nesting of inputs": (made.in_spec, other.in_spec),
        "outputs": (made.out_spec, other.out_spec),
    }
    for what, (new, old) in compared.items():
        if new != old:
            shown = f": {list(new)} and {list(old)}" if isinstance(new, tuple) else ""
            raise UsageError(
                f"{made.name!r} has other {what} than the variant {other.name!r} of {target}"
                f"{shown}. Variants are one model: write another into a file of its own."
            )


def _names(model: PackagedModel) -> tuple[str, ...]:
    return tuple(str(parameter[0]) for parameter in model.parameters)
