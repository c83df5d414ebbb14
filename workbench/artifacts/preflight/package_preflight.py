"""What a package needs, compared with a machine; which of several variants that machine can run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.machine.machine_description import (
    Machine,
    find_newest_symbols,
    numbers,
    read_toolkit,
    refuse_failed,
)
from workbench.artifacts.manifest.manifest import SystemNeeds
from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.artifacts.preflight.preflight import (
    GpuCode,
    check_instructions,
    list_code_rows,
    list_device_rows,
    system_rows,
)
from workbench.errors import ArtifactError
from workbench.number_text import plural
from workbench.report.requirement_rows import NOT_CHECKED, Requirement

if TYPE_CHECKING:
    from workbench.artifacts.machine.elf import Libraries

_ISA_FLAGS = {  # what torch/_inductor/cpu_vec_isa.py gives the compiler, as /proc/cpuinfo names it
    "AVX512": ("avx512f", "avx512dq", "avx512vl", "avx512bw"),
    "AVX512_VNNI": ("avx512_vnni",),
    "AVX512_BF16": ("avx512_bf16",),
    "AMX_TILE": ("amx_tile", "amx_bf16", "amx_int8"),
    "AMX_FP16": ("amx_fp16",),
    "AVX2": ("avx2", "fma", "f16c"),
    "ASIMD": ("asimd",),
    "SVE256": ("sve",),
    "SVE": ("sve",),
    "BF16": ("bf16",),
}


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


def check_package_requirements(
    manifest: PackageManifest, machine: Machine, code: Iterable[GpuCode] = ()
) -> tuple[Requirement, ...]:
    """Everything that a package of ours needs; `code` is what its members hold for GPUs.

    Of several variants each is a row of its own: one that fits is enough.
    """
    if manifest.are_variants:
        fits = sort_fitting_variants(manifest, machine, code)
        usable = [fit.name for fit in fits if fit.fits]
        models = [model for model in manifest.models if model.name in usable]
        return (*list_variant_rows(fits), *_weights(models))
    stated = [model.arch for model in manifest.models if model.arch]
    code = tuple(GpuCode("machine code", arch) for arch in stated) or code
    builds = {model.isa: None for model in manifest.models if model.isa is not None}
    devices = sorted({model.device.partition(":")[0] for model in manifest.models})
    return (
        torch_row(manifest.versions.torch, devices, machine),
        *system_rows(manifest.needs, machine),
        *(check_instructions([build], machine) for build in builds),
        *list_device_rows(devices, machine),
        *list_code_rows(code, read_toolkit(manifest.versions.torch), machine),
        *_weights(manifest.models),
        *_operators(manifest.models, machine),
    )


def sort_fitting_variants(
    manifest: PackageManifest, machine: Machine, code: Iterable[GpuCode] = ()
) -> tuple[VariantFit, ...]:
    """Every variant: those that fit first, of them a GPU's, then those with more instructions."""
    held = tuple(code)
    needs = (
        check_package_requirements(
            manifest.alone(model), machine, () if model.device == "cpu" else held
        )
        for model in manifest.models
    )
    rows = [
        (model, _fit(model, checks)) for model, checks in zip(manifest.models, needs, strict=True)
    ]
    return tuple(fit for _, fit in sorted(rows, key=lambda row: _order(*row)))


def _fit(model: PackagedModel, rows: Iterable[Requirement]) -> VariantFit:
    failed = [row for row in rows if row.verdict == "fail"]
    lacks = "; ".join(f"it needs {row.name} {row.needed}, found {row.found}" for row in failed)
    fine = "on its GPU" if model.device != "cpu" else "the processor supports its instructions"
    return VariantFit(model.name, model.device, model.made_for, not failed, lacks or fine)


def _order(model: PackagedModel, fit: VariantFit) -> tuple[bool, bool, int]:
    instructions = len(model.isa.flags) if model.isa else 0
    return not fit.fits, model.device == "cpu", -instructions


def list_variant_rows(fits: Iterable[VariantFit]) -> Iterator[Requirement]:
    """A row for each variant, a warning where another one fits; they fail where none does."""
    variants = tuple(fits)
    lost = "warn" if any(fit.fits for fit in variants) else "fail"
    for fit in variants:
        verdict = "pass" if fit.fits else lost
        advice = "" if fit.fits else "another variant is used" if lost == "warn" else fit.why
        outcome = "fits" if fit.fits else fit.why
        yield Requirement(f"variant {fit.name}", verdict, fit.made_for, outcome, advice)


def choose_variant(path: str, fits: Iterable[VariantFit], name: str | None) -> str | None:
    """The variant that alone can be meant, None where inputs decide between several.

    Raises `ArtifactError` where there is no variant of that name, or the machine cannot run it,
    or none at all.
    """
    variants = tuple(fits)
    usable = [fit.name for fit in variants if fit.fits]
    if name is not None and name not in [fit.name for fit in variants]:
        names = ", ".join(fit.name for fit in variants)
        raise ArtifactError(f"{path} has no variant {name!r}: name one of {names}.")
    candidates = [fit for fit in variants if name in (None, fit.name)]
    if not any(fit.fits for fit in candidates):
        raise ArtifactError(_refusal(path, candidates, usable))
    if name is not None:
        return name
    return usable[0] if len(usable) == 1 else None


def _refusal(path: str, fits: Iterable[VariantFit], usable: list[str]) -> str:
    lines = [f"variant {fit.name!r} ({fit.made_for}): {fit.why}" for fit in fits]
    if len(lines) == 1:
        there = f" Load another: wb.load({path!r}, variant={usable[0]!r})." if usable else ""
        return f"{path}: this machine cannot run {lines[0]}.{there}"
    listed = "\n  ".join(lines)
    return (
        f"{path} has no variant that this machine can run:\n  {listed}\nAdd one here: "
        f"wb.package(model, args, path={path!r}, variant=…)."
    )


def torch_row(wanted: str, devices: Iterable[str], machine: Machine) -> Requirement:
    """The release of torch: code for a CPU runs on every build of it and on later releases.

    torch keeps the C interface of AOTInductor (torch/csrc/inductor/aoti_torch/c/shim.h) but does
    not promise it: another release is a warning when it is newer, and does not fit when it is
    older.
    """
    row = machine.compared
    only_cpu = set(devices) <= {"cpu"}
    whole = (wanted, machine.torch)
    release, installed = (text.partition("+")[0] if only_cpu else text for text in whole)
    again = "recompile with the torch release of the machine"
    exact = row("torch", release == installed, release, installed, again)
    if exact.verdict != "fail" or not installed:
        return exact
    mine, there = (numbers(text.partition("+")[0])[:2] for text in whole)
    builds = read_toolkit(wanted) == read_toolkit(machine.torch) or only_cpu
    if there == mine and builds:
        return Requirement("torch", "pass", release, installed)
    if there > mine and builds:
        advice = (
            "a newer release; its C interface is usually compatible, but compare the results once"
        )
        return Requirement("torch", "warn", release, installed, advice)
    if there >= mine and read_toolkit(wanted)[:1] == read_toolkit(machine.torch)[:1]:
        advice = "another torch build for the same major toolkit; compare the results once"
        return Requirement("torch", "warn", release, installed, advice)
    return exact


def read_instruction_set(isa: str, machine: Machine) -> Requirement:
    """The instruction set that torch names; it records no more than the vector instructions."""
    flags = {flag for name in isa.upper().split() for flag in _ISA_FLAGS.get(name, ())}
    row = machine.compared
    if not machine.cpu_flags:
        return row("instructions", False, isa, None, "its processor is unknown")
    lacks = sorted(flags - machine.cpu_flags)
    if lacks:
        processor = f"a processor without {' '.join(lacks)}"
        return row("instructions", False, isa, processor, "recompile on this processor")
    advice = (
        "torch compiles for the build machine's processor, but records only these instruction sets"
    )
    return Requirement("instructions", "warn", isa, "all of them", advice)


def _weights(models: Iterable[PackagedModel]) -> Iterator[Requirement]:
    for model in models:
        if model.weights == "later" and model.constants:
            words = f"{plural(len(model.constants), 'tensor')} of {model.name}"
            advice = "pass them before the first call: Package.update_weights({...})"
            yield Requirement("weights", "warn", words, "not in the file", advice)


def _operators(models: Iterable[PackagedModel], machine: Machine) -> Iterator[Requirement]:
    """Custom operators: of this machine, whether this process has registered them."""
    for name in dict.fromkeys(name for model in models for name in model.operators):
        what = "import the module that registers it, or torch.ops.load_library(path), before load"
        if not machine.is_here:
            yield Requirement("operator", NOT_CHECKED, name, "not described", what)
        elif is_registered(name):
            yield Requirement("operator", "pass", name, name)
        else:
            yield Requirement("operator", "fail", name, "no such operator in this process", what)


def is_registered(operator: str) -> bool:
    """Whether an operator such as `mine::scale.default` can be called in this process."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    namespace, _, name = operator.partition("::")
    return hasattr(getattr(torch.ops, namespace), name.partition(".")[0])


def list_torch_package_rows(
    package: OpenedPackage, machine: Machine, libraries: Libraries | None = None
) -> Iterator[Requirement]:
    """What torch's metadata name, and the versions of symbols that the libraries need."""
    from workbench.artifacts.machine.elf import read_libraries  # our own packages need none

    libraries = libraries or read_libraries(package)
    facts = package.read_metadata()
    newest = find_newest_symbols(version for row in libraries.libraries for version in row.versions)
    system, processor = facts.get("AOTI_PLATFORM", "").capitalize(), facts.get("AOTI_MACHINE", "")
    yield from system_rows(SystemNeeds(system, processor, newest), machine)
    if isa := facts.get("AOTI_CPU_ISA"):
        yield read_instruction_set(isa, machine)
    yield from list_device_rows([facts.get("AOTI_DEVICE_KEY", "cpu")], machine)


def check_package_fits(path: str, package: OpenedPackage, machine: Machine) -> None:
    """Raise `ArtifactError` that names each requirement of a `.pt2` which the machine fails.

    A library for another processor would end the process: look before it is opened.
    """
    if package.manifest is not None:
        rows: Iterable[Requirement] = check_package_requirements(package.manifest, machine)
    else:
        rows = list_torch_package_rows(package, machine)
    refuse_failed(path, rows, "Rebuild it here: wb.package(model, args, path=...)")
