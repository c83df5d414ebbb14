"""One or several models compiled and written as a package."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from workbench.artifacts.archive.container import temporary_folder
from workbench.artifacts.manifest.package_manifest import PackageManifest
from workbench.artifacts.preflight.preflight import system_needs
from workbench.artifacts.trust.trust import TrustStore
from workbench.compiler.aot_files.saving import current_versions
from workbench.compiler.internals.cpython_costs import gc_throttle
from workbench.compiler.packaging.archive import FIXED, Content, with_members, write_archive
from workbench.compiler.packaging.model_build import pack
from workbench.compiler.packaging.request import ModelRequest
from workbench.errors import ArtifactError, UsageError
from workbench.processes.messages import ProgressCallback


@gc_throttle()
def write_package(
    requests: Sequence[ModelRequest],
    path: str | PathLike[str],
    *,
    progress: ProgressCallback | None = None,
    store: TrustStore | None = None,
    bucketing: Mapping[str, Any] | None = None,
) -> PackageManifest:
    """Compile every model and write the file atomically; returns its manifest.

    An error or an interrupt leaves no file and no folder behind.
    """
    target = _checked(path)
    with temporary_folder() as folder:
        packed = [pack(request, folder / request.name, progress) for request in requests]
        members: dict[str, Content] = dict(FIXED)
        for part in packed:
            members.update(part.members)
        manifest = PackageManifest(
            root=re.sub(r"[^A-Za-z0-9_.-]", "_", target.stem),
            models=tuple(part.model for part in packed),
            versions=current_versions(),
            needs=system_needs(_read(members[part.model.library]) for part in packed),
            bucketing=bucketing,
        )
        manifest = with_members(manifest, members)
        manifest = (store or TrustStore.of_user()).sign_if_possible(manifest)
        write_archive(target, manifest, members)
    return manifest


def _read(content: Content) -> bytes:
    return content if isinstance(content, bytes) else content.read_bytes()


def _checked(path: str | PathLike[str]) -> Path:
    """The path of the file, refused before anything is compiled for it."""
    target = Path(fspath(path))
    if target.suffix != ".pt2":
        raise UsageError(f"path is {str(target)!r}: the name of a package ends in .pt2.")
    if not target.parent.is_dir():
        raise ArtifactError(f"Cannot write {target}: {target.parent} is no folder. Make it first.")
    return target
