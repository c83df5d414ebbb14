"""One model compiled several times into one file: each time a variant is added, or replaced."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.archive.members import Content
from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.artifacts.preflight.preflight import read_system_needs
from workbench.artifacts.trust.trust import TrustStore, check_trust
from workbench.compiler.aot_files.written_artifact import read_current_versions
from workbench.compiler.packaging.archive import FIXED, with_members, write_archive
from workbench.compiler.packaging.package_request import ModelRequest
from workbench.compiler.packaging.writing import Packed, check_path, pack, read_content
from workbench.errors import UsageError
from workbench.processes.child_messages import ProgressCallback
from workbench.temporary import make_temporary_folder

Pack = Callable[[ModelRequest, Path, ProgressCallback | None], Packed]


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
    pack_model: Pack = pack,
) -> PackageManifest:
    """Compile the variant that `request` names into a file, beside those that it holds.

    Raises `UsageError` where the file holds something else or its variants are called in another
    way, and `TrustError` where nobody vouched for it: what is written is signed by this user.
    """
    target, store = check_path(path), store or TrustStore.of_user()
    with (
        make_temporary_folder() as folder,
        _others(target, request.name, folder / "kept", store) as kept,
    ):
        packed = pack_model(request, folder / request.name, progress)
        made = _described(packed)
        for other in kept.models:
            _check_alike(made, other, target)
        members = {**FIXED, **kept.members, **packed.members}
        manifest = PackageManifest(
            root=re.sub(r"[^A-Za-z0-9_.-]", "_", target.stem),
            models=(*kept.models, made),
            versions=read_current_versions(),
            needs=read_system_needs(read_content(members[m.library]) for m in (*kept.models, made)),
            are_variants=True,
        )
        manifest = store.sign_if_possible(with_members(manifest, members))
        write_archive(target, manifest, members)
    return manifest


def _described(packed: Packed) -> PackagedModel:
    """The variant with what its own library needs of a machine."""
    model = packed.model
    needs = read_system_needs([read_content(packed.members[model.library])])
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
