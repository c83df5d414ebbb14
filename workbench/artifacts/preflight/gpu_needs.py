"""What code for one kind of GPU needs of a machine: that GPU, its toolkit, torch and Triton."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.artifacts.machine.machine_description import Machine, numbers
from workbench.report.requirement_rows import NOT_CHECKED, Requirement

if TYPE_CHECKING:
    from workbench.artifacts.manifest.manifest import BuiltFor, Manifest

_DRIVERS = {  # by major toolkit: CUDA Toolkit Release Notes, "Minimum Required Driver Version"
    11: "450.80.02",
    12: "525.60.13",
    13: "580.65.06",
}


@dataclass(frozen=True)
class GpuCode:
    """Code for GPUs in a file: of kind "machine code" or "PTX" for `arch`, or a "bundle"."""

    kind: str
    arch: str


def list_gpu_rows(manifest: Manifest, machine: Machine) -> Iterator[Requirement]:
    """A row each for torch, Triton, the toolkit and the GPU; nothing for other artifacts."""
    needed = manifest.built_for
    if needed is None:
        return
    yield _torch(needed, machine)
    yield _triton(needed, machine)
    yield _toolkit(needed, machine)
    yield _gpu(needed, machine)
    toolkit = numbers(needed.toolkit or "")
    if toolkit and needed.kind.has_minimum_drivers:
        yield from _driver(toolkit, machine)


def list_code_rows(
    code: Iterable[GpuCode], toolkit: tuple[int, ...], machine: Machine
) -> Iterator[Requirement]:
    """A row each for the GPU, the toolkit and the driver of what a package holds for GPUs."""
    parts = sorted({*code}, key=lambda part: (part.kind, part.arch))
    if not parts:
        return
    words = ", ".join(f"{part.kind} {part.arch}".strip() for part in parts)
    gpus = _gpus(machine) if machine.gpus else None
    if any(part.kind == "bundle" for part in parts):
        advice = "which GPUs the bundle is for is not read"
        yield Requirement("gpu", NOT_CHECKED, words, gpus or "no GPU described", advice)
    else:
        fits = any(
            (gpu.compiles if part.kind == "PTX" else gpu.runs)(part.arch)
            for part in parts
            for gpu in machine.gpus
        )
        yield machine.compared(
            "gpu", fits, words, gpus, "no GPU here runs this code: compile for it"
        )
    if toolkit:
        has = numbers(machine.release_in_torch or "")
        wanted = f"CUDA {toolkit[0]}"
        advice = "install a build of torch for that major release of CUDA"
        yield machine.compared("toolkit", has[:1] == toolkit[:1], wanted, machine.toolkit, advice)
        yield from _driver(toolkit, machine)


def _driver(toolkit: tuple[int, ...], machine: Machine) -> Iterator[Requirement]:
    """Whether the driver runs what a toolkit of this major release makes."""
    least = _DRIVERS.get(toolkit[0])
    if least is not None and machine.driver:
        fits = numbers(machine.driver) >= numbers(least)
        advice = f"CUDA {toolkit[0]} needs a newer driver"
        yield machine.compared("driver", fits, f"at least {least}", machine.driver, advice)


def explain_wrong_gpu(path: str, manifest: Manifest, machine: Machine) -> str | None:
    """One sentence when no GPU of the machine runs the artifact's code, else None."""
    needed = manifest.built_for
    if needed is None or _gpu(needed, machine).verdict != "fail":
        return None
    return (
        f"{path} was compiled for {needed.gpu} ({needed.title}), and this machine has "
        f"{_gpus(machine)}: load it where that GPU is, or look inside with "
        f"wb.inspect({path!r})."
    )


def _torch(needed: BuiltFor, machine: Machine) -> Requirement:
    release, _, build = needed.torch.partition("+")
    has, _, found_build = machine.torch.partition("+")
    words = needed.torch if build else f"{release}, any build for the GPU"
    again = "compile again with the release of torch that the machine has"
    other = "another build of the same release: torch itself would refuse the file"
    is_other = build and found_build and build != found_build
    warning = other if is_other else ""
    return machine.compared("torch", release == has, words, machine.torch, again, warning)


def _triton(needed: BuiltFor, machine: Machine) -> Requirement:
    wanted, has = needed.triton or "", machine.triton or ""
    fits = wanted.split(".")[:2] == has.split(".")[:2]
    again = "compile again with the release of Triton that the machine has"
    other = "kernels that Triton itself starts are compiled again on the first load"
    return machine.compared("triton", fits, wanted, has, again, other if wanted != has else "")


def _toolkit(needed: BuiltFor, machine: Machine) -> Requirement:
    vendor = needed.kind.toolkit
    wanted = f"{vendor} {needed.toolkit}" if needed.toolkit else f"any {vendor}"
    has = machine.toolkit or ""
    advice = f"install a build of torch for {vendor}"
    other = "another toolkit than was named: torch itself would refuse the file"
    warning = other if needed.toolkit and wanted != has else ""
    return machine.compared("toolkit", has.startswith(vendor), wanted, has, advice, warning)


def _gpu(needed: BuiltFor, machine: Machine) -> Requirement:
    fitting = [gpu.name for gpu in machine.gpus if gpu.runs(needed.arch)]
    has = _gpus(machine) if machine.gpus else None
    advice = f"the kernels are machine code for {needed.arch}, which no GPU here runs"
    other = f"the code runs; sizes and grids were chosen for {needed.device_name}"
    warning = other if needed.device_name not in fitting else ""
    row = machine.compared("gpu", bool(fitting), needed.title, has, advice, warning)
    is_none = row.verdict == "fail" and not machine.gpus
    return replace(row, found=_gpus(machine)) if is_none else row


def _gpus(machine: Machine) -> str:
    if not machine.gpus:
        return "a GPU that cannot be read" if machine.gpu else "no GPU"
    return ", ".join(dict.fromkeys(f"{gpu.name} ({gpu.arch})" for gpu in machine.gpus))
