"""What a manifest says that a machine has to have, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.artifacts.inspect.rows import NeedFacts
from workbench.artifacts.manifest.manifest import BuiltFor
from workbench.artifacts.manifest.manifest_rows import Build, SystemNeeds, Versions


def torch_row(version: str) -> NeedFacts:
    """The release of torch."""
    return NeedFacts("torch", version, "the release that compiled it")


def version_needs(versions: Versions, target: BuiltFor | None) -> Iterator[NeedFacts]:
    """The releases that a file of Python code needs, those for another machine's GPU first."""
    yield NeedFacts("python", versions.python, "it holds Python's bytecode")
    yield NeedFacts("bytecode", versions.magic, "Python's magic number")
    yield torch_row(target.torch if target else versions.torch)
    triton = target.triton if target else versions.triton
    if triton:
        yield NeedFacts("triton", triton, "for kernels that Triton made")


def system_rows(needs: SystemNeeds) -> Iterator[NeedFacts]:
    """System, processor, versions of symbols, libraries."""
    if needs.system:
        yield NeedFacts("system", needs.system)
        yield NeedFacts("processor", needs.machine)
    for family, version in sorted(needs.symbols.items()):
        yield NeedFacts(family, version, "the newest version of its symbols that is used")
    if needs.libraries:
        yield NeedFacts("libraries", ", ".join(needs.libraries))


def build_rows(builds: Iterable[Build]) -> Iterator[NeedFacts]:
    """The instruction sets of the kernels and the processor's flags that they were built with."""
    for build in builds:
        yield NeedFacts("instructions", build.isa or build.name, " ".join(build.flags))


def gpu_needs(target: BuiltFor | None) -> Iterator[NeedFacts]:
    """The GPU, its toolkit and the releases that code for another machine was made for."""
    if target is None:
        return
    vendor = "ROCm" if target.is_amd else "CUDA"
    yield NeedFacts("gpu", target.title, "its machine code runs on this architecture")
    yield NeedFacts("toolkit", f"{vendor} {target.toolkit}" if target.toolkit else f"any {vendor}")
