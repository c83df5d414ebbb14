"""A compiled function written to an `.aot` file."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.artifacts import container
from workbench.artifacts.manifest import Manifest, Versions
from workbench.artifacts.preflight import system_needs
from workbench.artifacts.trust import TrustStore
from workbench.compiler import weights as packing
from workbench.compiler.builds import packed_builds
from workbench.compiler.payload import NATIVE, freeze
from workbench.report import Report
from workbench.report.storage import to_bytes

BUNDLE = "bundle"


def save_artifact(
    path: str | PathLike[str],
    *,
    aot_fn: Any,
    contract_json: Mapping[str, Any],
    baked_json: Sequence[Any] = (),
    guards_json: Mapping[str, Any] | None = None,
    report: Report | None = None,
    module: Any | None = None,
    weights: str | None = None,
    isa: str | Sequence[str] = NATIVE,
    external_data: Mapping[str, Any] | None = None,
    target: str = "cpu",
    backend: str = "inductor",
    store: TrustStore | None = None,
) -> str:
    """Write one artifact atomically and return its digest (`sha256:…`).

    The report's compiler options decide which ISA the kernels were generated for.
    """
    frozen = freeze(aot_fn, external_data, _options(report))
    builds = packed_builds(frozen, isa)
    with container.private_folder() as folder:
        members: dict[str, container.Content] = {container.PAYLOAD: frozen.payload}
        for build, kernels in builds:
            for kernel in kernels:
                members[container.kernel_member(build.name, kernel.key)] = kernel.library
        if report is not None:
            members[container.REPORT] = to_bytes(report)
        table = _bundle(module, folder, members) if weights == BUNDLE else None
        manifest = Manifest(
            versions=current_versions(),
            needs=system_needs(k.library for _, kernels in builds for k in kernels),
            target=target,
            device=frozen.device,
            backend=backend,
            builds=tuple(build for build, _ in builds),
            contract=dict(contract_json),
            baked=tuple(baked_json),
            guards=dict(guards_json or {}),
            aliases=frozen.aliases,
            missing_names=frozen.missing_names,
            external_data=frozen.external_data,
            weights=table,
        )
        manifest = container.with_members(manifest, members)
        manifest = (store or TrustStore.of_user()).sign_if_possible(manifest)
        container.write_artifact(path, manifest, members)
    return manifest.digest


def _options(report: Report | None) -> dict[str, Any]:
    """The compiler options that the function was compiled with, as far as they are plain data."""
    found = {}
    for name, text in report.request.options if report is not None else ():
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
    return found


def _bundle(module: Any, folder: Path, members: dict[str, container.Content]) -> Mapping[str, Any]:
    bundle = packing.pack(module, folder)
    members[container.WEIGHTS] = bundle.file
    members[container.SKELETON] = bundle.skeleton
    return bundle.table


def current_versions() -> Versions:
    """The releases of this process that decide where an artifact can be loaded."""
    return Versions(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        magic=importlib.util.MAGIC_NUMBER.hex(),
        torch=_release("torch") or "",
        triton=_release("triton"),
        workbench=_release("aot-workbench") or "",
    )


def _release(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
