"""From a `.pt2` file to what a package is made of: what is needed first is imported first."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING

import workbench.load_steps as load_steps
from workbench.artifacts.archive.file_kinds import OpenedFile, open_any
from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.manifest.package_manifest import PackageManifest
from workbench.artifacts.trust.trust import Trust, TrustStore, check_trust
from workbench.compiler.running.model_files import NO_CONTRACT, Unpacking, manifest_of
from workbench.errors import ArtifactError, TrustError, UsageError
from workbench.file_path import check_file_path

if TYPE_CHECKING:
    from workbench.artifacts.preflight.package_preflight import VariantFit


@dataclass(frozen=True)
class PackageParts:
    """The parts of a `Package`. `refusal` is the reason why no model can be called."""

    opened: OpenedPackage
    manifest: PackageManifest
    path: str
    runners: int
    check: bool
    unpacking: Unpacking | None
    fits: tuple[VariantFit, ...]
    variant: str | None
    refusal: str | None


@contextmanager
def open_package_parts(
    path: str | PathLike[str],
    trust: Trust,
    num_runners: int = 1,
    check: bool = True,
    variant: str | None = None,
    is_elsewhere: bool = False,
    opened: OpenedFile | None = None,
) -> Iterator[PackageParts]:
    """Open a `.pt2` file without running any of its code until it is trusted and verified.

    The file is closed if the `with` block that creates the package raises. While the library of a
    trusted file is copied, its requirements are compared with this machine in parallel. With
    `is_elsewhere`, a file that does not fit this machine is opened too, but calls raise an error.
    """
    if not isinstance(num_runners, int) or num_runners < 1:
        raise UsageError(f"num_runners is {num_runners!r}: expected at least 1.")
    name = check_file_path(path)
    load_steps.begin(load_steps.READ)
    with open_any(path) if opened is None else nullcontext(opened) as file:
        there = _package_in(name, file)
        try:
            store = TrustStore.of_user()
            check_trust(name, file.digest, trust=trust, store=store, manifest=there.manifest)
        except TrustError:
            _check_fits(name, there)  # to vouch for a file is no use where it cannot run
            raise
        if there.manifest is None:  # the libraries themselves say what they need
            _check_fits(name, there)
        package = replace(there, file=os.fdopen(os.dup(there.file.fileno()), "rb"))
    load_steps.begin(load_steps.UNPACK)
    unpacking: Unpacking | None = None
    try:
        if package.manifest is None:
            warnings.warn(f"{name} {NO_CONTRACT}", stacklevel=5)
        manifest = package.manifest or manifest_of(package)
        fits = _fits(name, manifest, variant)
        only = manifest.models[0].name if len(manifest.models) == 1 else None
        refusal = _refusal(name, package, fits) if is_elsewhere else None
        if manifest.are_variants and refusal is None:
            from workbench.artifacts.preflight.package_preflight import choose_variant

            only = choose_variant(name, fits, variant)
        if only is not None and refusal is None:
            unpacking = Unpacking(package, manifest.model(only))
        if package.manifest is not None and not manifest.are_variants and refusal is None:
            _check_fits(name, package)
        chosen = only if manifest.are_variants else None
        yield PackageParts(
            package, manifest, name, num_runners, check, unpacking, fits, chosen, refusal
        )
    except BaseException:
        if unpacking is not None:
            unpacking.remove()
        package.file.close()
        raise


def _refusal(path: str, opened: OpenedPackage, fits: tuple[VariantFit, ...]) -> str | None:
    """Why nothing of the file can be called on this machine; None where something can."""
    if any(fit.fits for fit in fits):
        return None
    try:
        _check_fits(path, opened)
    except ArtifactError as error:
        return str(error)
    return None


def _fits(path: str, manifest: PackageManifest, variant: str | None) -> tuple[VariantFit, ...]:
    """The variants of a package on this machine; raises `UsageError` where it has none."""
    if manifest.are_variants:
        from workbench.artifacts.machine.machine_description import describe_current_machine
        from workbench.artifacts.preflight.package_preflight import sort_fitting_variants

        return sort_fitting_variants(manifest, describe_current_machine(symbols=False))
    if variant is not None:
        raise UsageError(f"{path} holds no variants: leave variant={variant!r} out.")
    return ()


def _check_fits(path: str, package: OpenedPackage) -> None:
    """Raise `ArtifactError` where a package does not fit this machine."""
    from workbench.artifacts.machine.machine_description import describe_current_machine
    from workbench.artifacts.preflight.package_preflight import check_package_fits

    check_package_fits(path, package, describe_current_machine(symbols=False))


def _package_in(name: str, opened: OpenedFile) -> OpenedPackage:
    if opened.package is None or opened.kind == "exported program":
        what = "an exported program" if opened.package is not None else "no .pt2 package"
        raise ArtifactError(
            f"{name} is {what}. Compile it first: wb.package(torch.export.load(path).module(), …)."
        )
    return opened.package
