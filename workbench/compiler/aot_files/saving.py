"""A compiled function written to an `.aot` file."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.artifacts.archive import container
from workbench.artifacts.machine.machine import release, torch_build
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.manifest.records import Build, SystemNeeds, Versions
from workbench.artifacts.preflight.preflight import system_needs
from workbench.artifacts.trust.trust import TrustStore
from workbench.compiler.aot_files.isa_builds import packed_builds
from workbench.compiler.aot_files.payload import NATIVE, BuiltKernel, Serialized, serialize
from workbench.compiler.aot_files.weights import pack
from workbench.report import Report

BUNDLE = "bundle"
WEIGHTS = ("separate", BUNDLE)


def save_artifact(
    path: str | PathLike[str],
    *,
    aot_fn: Any,
    contract_json: Mapping[str, Any],
    specialized_json: Sequence[Any] = (),
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
    serialized = serialize(aot_fn, external_data, _options(report))
    return write_serialized(
        path,
        serialized,
        Manifest(
            target=target,
            backend=backend,
            contract=dict(contract_json),
            baked=tuple(specialized_json),
            guards=dict(guards_json or {}),
            built_for=serialized.built_for,
        ),
        report=report,
        module=module if weights == BUNDLE else None,
        isa=isa,
        store=store,
    )


def write_serialized(
    path: str | PathLike[str],
    serialized: Serialized,
    manifest: Manifest,
    *,
    report: Report | None,
    module: Any | None,
    isa: str | Sequence[str] = NATIVE,
    device: str | None = None,
    store: TrustStore | None = None,
) -> str:
    """Write a serialized function and return the digest; `module` is one whose tensors go along.

    `manifest` says what the function is; what the file holds and needs is added here. The tensors
    arrive where they are, or all on `device`.
    """
    builds = packed_builds(serialized, isa)
    with container.temporary_folder() as folder:
        members: dict[str, container.Content] = {container.PAYLOAD: serialized.payload}
        for build, kernels in builds:
            for kernel in kernels:
                members[container.kernel_member(build.name, kernel.key)] = kernel.library
        if report is not None:
            members[container.REPORT] = report.to_bytes()
        whole = replace(
            manifest,
            versions=current_versions(),
            needs=_needs(builds, manifest),
            device=serialized.device,
            builds=tuple(build for build, _ in builds),
            aliases=serialized.aliases,
            missing_names=serialized.missing_names,
            external_data=serialized.external_data,
            weights=None if module is None else _bundle(module, folder, members, device),
        )
        whole = container.with_members(whole, members)
        whole = (store or TrustStore.of_user()).sign_if_possible(whole)
        container.write_artifact(path, whole, members)
    return whole.digest


def _needs(
    builds: Sequence[tuple[Build, Sequence[BuiltKernel]]], manifest: Manifest
) -> SystemNeeds:
    """What the libraries need; code for a GPU elsewhere without any runs beside any processor."""
    libraries = [kernel.library for _, kernels in builds for kernel in kernels]
    return system_needs(libraries) if libraries or not manifest.built_for else SystemNeeds()


def _options(report: Report | None) -> dict[str, Any]:
    """The compiler options that the function was compiled with, as far as they are plain data."""
    found = {}
    for name, text in report.request.options if report is not None else ():
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
    return found


def _bundle(
    module: Any, folder: Path, members: dict[str, container.Content], device: str | None
) -> Mapping[str, Any]:
    bundle = pack(module, folder)
    members[container.WEIGHTS] = bundle.file
    members[container.SKELETON] = bundle.skeleton
    if device is None:
        return bundle.table
    rows = [{**row, "device": device} for row in bundle.table["tensors"]]
    return {**bundle.table, "tensors": rows}


def current_versions() -> Versions:
    """The releases of this process that decide where an artifact can be loaded."""
    return Versions(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        magic=importlib.util.MAGIC_NUMBER.hex(),
        torch=torch_build().get("__version__") or "",
        triton=release("triton"),
        workbench=release("aot-workbench") or "",
    )
