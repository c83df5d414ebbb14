"""From a `.pt2` file to a package that is called: what is needed first is imported first."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.artifacts.archive.file_kinds import OpenedFile, open_any
from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.manifest.package_manifest import PackageManifest
from workbench.artifacts.trust.trust import Trust, TrustStore, check_trust
from workbench.compiler.aot_files import load_steps
from workbench.compiler.running.model_files import NO_CONTRACT, Unpacking, manifest_of
from workbench.errors import ArtifactError, TrustError, UsageError
from workbench.file_path import file_path

if TYPE_CHECKING:
    from workbench.artifacts.preflight.package_variants import VariantFit
    from workbench.handles.package import Package


def load_package(
    path: str | PathLike[str],
    *,
    module: Any | None = None,
    trust: Trust = False,
    num_runners: int = 1,
    check: bool = True,
    variant: str | None = None,
    is_elsewhere: bool = False,
    package_class: Callable[[], type[Package]],
) -> Package:
    """Open a `.pt2` file; nothing of it runs before it is trusted, and code is verified first.

    While the library of a trusted file is copied, which takes as long, the file is compared with
    the machine, and `package_class` imports `Package`. With `is_elsewhere` a file that does not fit
    the machine is opened too: its calls say so.
    """
    if not isinstance(num_runners, int) or num_runners < 1:
        raise UsageError(f"num_runners is {num_runners!r}: it takes at least one.")
    name = file_path(path)
    load_steps.begin(load_steps.READ)
    with open_any(path) as opened:
        found = _package_in(name, opened)
        try:
            store = TrustStore.of_user()
            check_trust(name, opened.digest, trust=trust, store=store, manifest=found.manifest)
        except TrustError:
            _check_fits(name, found)  # to vouch for a file is no use where it cannot run
            raise
        if found.manifest is None:  # the libraries themselves say what they need
            _check_fits(name, found)
        kept = replace(found, file=os.fdopen(os.dup(found.file.fileno()), "rb"))
    wanted = _Wanted(name, num_runners, check, variant, is_elsewhere)
    package = _started(kept, wanted, package_class)
    if module is not None:
        package.update_weights(module)
    return package


@dataclass(frozen=True)
class _Wanted:
    """How a file is to be loaded."""

    path: str
    runners: int
    check: bool
    variant: str | None
    is_elsewhere: bool


def _started(
    opened: OpenedPackage, wanted: _Wanted, package_class: Callable[[], type[Package]]
) -> Package:
    """The package of a file that may run, which is closed when it does not start."""
    load_steps.begin(load_steps.UNPACK)
    unpacking: Unpacking | None = None
    try:
        if opened.manifest is None:
            warnings.warn(f"{wanted.path} {NO_CONTRACT}", stacklevel=4)
        manifest = opened.manifest or manifest_of(opened)
        fits = _fits(wanted, manifest)
        only = manifest.models[0].name if len(manifest.models) == 1 else None
        refusal = _refusal(wanted, opened, fits) if wanted.is_elsewhere else None
        if manifest.are_variants and refusal is None:
            from workbench.artifacts.preflight.package_variants import chosen_variant

            only = chosen_variant(wanted.path, fits, wanted.variant)
        if only is not None and refusal is None:
            unpacking = Unpacking(opened, manifest.model(only))
        if opened.manifest is not None and not manifest.are_variants and refusal is None:
            _check_fits(wanted.path, opened)
        return package_class()(
            opened,
            manifest,
            wanted.path,
            runners=wanted.runners,
            check=wanted.check,
            unpacking=unpacking,
            fits=fits,
            variant=only if manifest.are_variants else None,
            refusal=refusal,
        )
    except BaseException:
        if unpacking is not None:
            unpacking.remove()
        opened.file.close()
        raise


def _refusal(wanted: _Wanted, opened: OpenedPackage, fits: tuple[VariantFit, ...]) -> str | None:
    """Why nothing of the file can be called on this machine; None where something can."""
    if any(fit.fits for fit in fits):
        return None
    try:
        _check_fits(wanted.path, opened)
    except ArtifactError as error:
        return str(error)
    return None


def _fits(wanted: _Wanted, manifest: PackageManifest) -> tuple[VariantFit, ...]:
    """The variants of a package on this machine; raises `UsageError` where it has none."""
    if manifest.are_variants:
        from workbench.artifacts.machine.machine import current_machine
        from workbench.artifacts.preflight.package_preflight import fitting_variants

        return fitting_variants(manifest, current_machine(symbols=False))
    if wanted.variant is not None:
        raise UsageError(f"{wanted.path} holds no variants: leave variant={wanted.variant!r} out.")
    return ()


def _check_fits(path: str, package: OpenedPackage) -> None:
    """Raise `ArtifactError` where a package does not fit this machine."""
    from workbench.artifacts.machine.machine import current_machine
    from workbench.artifacts.preflight.package_preflight import check_package_fits

    check_package_fits(path, package, current_machine(symbols=False))


def _package_in(name: str, opened: OpenedFile) -> OpenedPackage:
    if opened.package is None or opened.kind == "exported program":
        what = "an exported program" if opened.package is not None else "no .pt2 package"
        raise ArtifactError(
            f"{name} is {what}. Compile it first: wb.package(torch.export.load(path).module(), …)."
        )
    return opened.package
