"""A compiled function written to an `.aot` file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from typing import Any

from workbench.artifacts import container
from workbench.artifacts.manifest import Build, Manifest, Versions
from workbench.artifacts.preflight import BUILD_FLAGS, cpu_flags, system_needs
from workbench.artifacts.trust import TrustStore
from workbench.compiler.payload import Frozen, freeze
from workbench.report import Report
from workbench.report.storage import to_bytes


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
    isa: str | Sequence[str] = "native",
    external_data: Mapping[str, Any] | None = None,
    target: str = "cpu",
    backend: str = "inductor",
    store: TrustStore | None = None,
) -> str:
    """Write one artifact atomically and return its digest (`sha256:…`)."""
    frozen = freeze(aot_fn, external_data)
    members: dict[str, container.Content] = {container.PAYLOAD: frozen.payload}
    build = _native_build(frozen)
    for kernel in frozen.kernels:
        members[container.kernel_member(build.name, kernel.key)] = kernel.library
    if report is not None:
        members[container.REPORT] = to_bytes(report)
    manifest = Manifest(
        versions=_versions(),
        needs=system_needs(kernel.library for kernel in frozen.kernels),
        target=target,
        device=frozen.device,
        backend=backend,
        builds=(build,) if frozen.kernels else (),
        contract=dict(contract_json),
        baked=tuple(baked_json),
        guards=dict(guards_json or {}),
        aliases=frozen.aliases,
        missing_names=frozen.missing_names,
        external_data=frozen.external_data,
    )
    manifest = container.with_members(manifest, members)
    manifest = (store or TrustStore.of_user()).sign_if_possible(manifest)
    container.write_artifact(path, manifest, members)
    return manifest.digest


def _native_build(frozen: Frozen) -> Build:
    name = "-".join((*frozen.isa.lower().split(), "native"))
    return Build(name, frozen.isa, tuple(sorted(cpu_flags() & BUILD_FLAGS)))


def _versions() -> Versions:
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
