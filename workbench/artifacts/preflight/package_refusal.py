"""Refuses a package that this machine cannot run, before anything of it is opened."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.machine.machine import Machine
from workbench.artifacts.machine.requirement import Requirement, refuse_failed
from workbench.artifacts.preflight.package_preflight import package_requirements


def check_package_fits(path: str, package: OpenedPackage, machine: Machine) -> None:
    """Raise `ArtifactError` that names each requirement of a `.pt2` which the machine fails.

    A library for another processor would end the process: look before it is opened.
    """
    if package.manifest is not None:
        rows: Iterable[Requirement] = package_requirements(package.manifest, machine)
    else:
        from workbench.artifacts.preflight.file_needs import (
            torch_package_rows,  # reads headers of libraries
        )

        rows = torch_package_rows(package, machine)
    refuse_failed(path, rows, "Make it again here: wb.package(model, args, path=...)")
