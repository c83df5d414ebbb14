"""Which of a package's variants a machine can run, the best first, and why not the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from workbench.artifacts.machine.machine_description import Machine
from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.errors import ArtifactError
from workbench.report.file_rows import Requirement

Needs = Callable[[PackageManifest], Iterable[Requirement]]


@dataclass(frozen=True)
class VariantFit:
    """One variant of a package on one machine; `made_for` in words, such as "cpu, avx2".

    `why` says what it lacks there, or what makes it better or worse than another that fits.
    """

    name: str
    device: str
    made_for: str
    fits: bool
    why: str


def sort_variants(
    manifest: PackageManifest, machine: Machine, needs: Needs
) -> tuple[VariantFit, ...]:
    """Every variant: those that fit first, of them a GPU's, then those with more instructions.

    `needs` gives what a manifest requires of the machine.
    """
    rows = [
        (model, _fit(model, needs(manifest.alone(model)), machine)) for model in manifest.models
    ]
    return tuple(fit for _, fit in sorted(rows, key=lambda row: _order(*row)))


def _fit(model: PackagedModel, rows: Iterable[Requirement], machine: Machine) -> VariantFit:
    failed = [row for row in rows if row.verdict == "fail"]
    lacks = "; ".join(f"it needs {row.name} {row.needed}, found {row.found}" for row in failed)
    fine = "on its GPU" if model.device != "cpu" else "the processor runs its instructions"
    return VariantFit(model.name, model.device, model.made_for, not failed, lacks or fine)


def _order(model: PackagedModel, fit: VariantFit) -> tuple[bool, bool, int]:
    instructions = len(model.isa.flags) if model.isa else 0
    return not fit.fits, model.device == "cpu", -instructions


def list_variant_rows(fits: Iterable[VariantFit]) -> Iterator[Requirement]:
    """A row for each variant, a warning where another one fits; they fail where none does."""
    found = tuple(fits)
    lost = "warn" if any(fit.fits for fit in found) else "fail"
    for fit in found:
        verdict = "pass" if fit.fits else lost
        advice = "" if fit.fits else "another variant is used" if lost == "warn" else fit.why
        seen = "fits" if fit.fits else fit.why
        yield Requirement(f"variant {fit.name}", verdict, fit.made_for, seen, advice)


def choose_variant(path: str, fits: Iterable[VariantFit], name: str | None) -> str | None:
    """The variant that alone can be meant, None where inputs decide between several.

    Raises `ArtifactError` where there is no variant of that name, or the machine cannot run it,
    or none at all.
    """
    found = tuple(fits)
    usable = [fit.name for fit in found if fit.fits]
    if name is not None and name not in [fit.name for fit in found]:
        names = ", ".join(fit.name for fit in found)
        raise ArtifactError(f"{path} has no variant {name!r}: name one of {names}.")
    wanted = [fit for fit in found if name in (None, fit.name)]
    if not any(fit.fits for fit in wanted):
        raise ArtifactError(_refusal(path, wanted, usable))
    if name is not None:
        return name
    return usable[0] if len(usable) == 1 else None


def _refusal(path: str, fits: Iterable[VariantFit], usable: list[str]) -> str:
    lines = [f"variant {fit.name!r} ({fit.made_for}): {fit.why}" for fit in fits]
    if len(lines) == 1:
        there = f" Load another: wb.load({path!r}, variant={usable[0]!r})." if usable else ""
        return f"{path} cannot run its {lines[0]}.{there}"
    listed = "\n  ".join(lines)
    return (
        f"{path} has no variant that this machine can run:\n  {listed}\nAdd one here: "
        f"wb.package(model, args, path={path!r}, variant=…)."
    )
