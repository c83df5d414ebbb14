"""Whether a package may be opened here: a library for another processor would end the process."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.machine.machine import Machine
from workbench.artifacts.machine.requirement import Requirement, refuse_failed
from workbench.artifacts.preflight.package_preflight import package_requirements


def check_package_fits(path: str, package: OpenedPackage, machine: Machine) -> None:
    """Raise `ArtifactError` that names each requirement of a `.pt2` which the machine fails."""
    if package.manifest is not None:
        rows: Iterable[Requirement] = package_requirements(package.manifest, machine)
    else:  # only a package of torch's own needs what reads the headers of libraries
        from workbench.artifacts.preflight.file_needs import torch_package_rows

        rows = torch_package_rows(package, machine)
    refuse_failed(path, rows, "Make it again here: wb.package(model, args, path=...)")
