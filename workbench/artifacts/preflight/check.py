"""Whether a file can be loaded on a machine: this one, or one that is only described."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.artifacts.archive.file_kinds import OpenedFile
from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.inspect.inspection import inspect, read_facts
from workbench.artifacts.machine.elf import Libraries, find_undefined, read_libraries
from workbench.artifacts.machine.machine_description import Machine, find_torch_folder, numbers
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.preflight.package_preflight import (
    check_package_requirements,
    list_torch_package_rows,
    sort_fitting_variants,
)
from workbench.artifacts.preflight.preflight import GpuCode, check_requirements, list_code_rows
from workbench.file_path import check_file_path
from workbench.number_text import plural
from workbench.report.presenter import FormerTable, Presented, presenter
from workbench.report.requirement_rows import NOT_CHECKED, Requirement

if TYPE_CHECKING:
    import pandas

    from workbench.artifacts.inspect.artifact_report import ArtifactReport

SIGNS = {"pass": "✓", "warn": "!", "fail": "✗", NOT_CHECKED: "?"}
"""A sign for each verdict."""
_AGAIN = "the loader refuses this file; get a new copy"


@dataclass(frozen=True)
class Check(Presented):
    """Hold every requirement of a file: each pass, warn, fail or not checked on one machine."""

    path: str
    machine: Machine
    requirements: tuple[Requirement, ...]

    @property
    def ok(self) -> bool:
        """Whether everything was checked and nothing fails; a file with a warning can be loaded."""
        return all(row.verdict in ("pass", "warn") for row in self.requirements)

    @property
    def verdict(self) -> str:
        """Whether it can be loaded, and where; left out if something was not checked."""
        verdicts = [row.verdict for row in self.requirements]
        unknown = verdicts.count(NOT_CHECKED)
        there = f"a machine with {repr(self.machine).removeprefix('Machine(').removesuffix(')')}"
        if "fail" in verdicts or not unknown:
            return f"{'can' if self.ok else 'cannot'} be loaded on {there}"
        needs = plural(len(verdicts), "need")
        return f"not checked: {unknown} of {needs}, unknown of {there}"

    table = FormerTable()

    def frame(self) -> pandas.DataFrame:
        """Return a row for each requirement: name, verdict, needed, found, advice."""
        return presenter().rows_frame(self.requirements, Requirement)

    def __repr__(self) -> str:
        """Show a line for each requirement."""
        lines = [f"Check({os.path.basename(self.path)}: {self.verdict})"]
        width = max(len(row.name) for row in self.requirements)
        for row in self.requirements:
            words = f"{row.needed}" if row.verdict == "pass" else f"{row.needed} / {row.found}"
            advice = f": {row.advice}" if row.advice else ""
            sign = SIGNS.get(row.verdict, SIGNS[NOT_CHECKED])
            lines.append(f"  {sign} {row.name:<{width}}  {words}{advice}")
        return "\n".join(lines)


def check(path: str | PathLike[str], machine: Any = None) -> Check:
    """Compare what a file needs with a machine, and its content with its hashes; executes nothing.

    `machine` is None for this one, or what `Machine.of` reads. Raises `ArtifactError` when the
    file is of no kind that can be loaded or damaged, `UsageError` for a machine that cannot be
    read.
    """
    from workbench.artifacts.archive.file_kinds import open_any
    from workbench.artifacts.machine.machine_description import Machine, describe_current_machine

    there = describe_current_machine() if machine is None else Machine.of(machine)
    with open_any(path, libraries=True) as opened:
        damaged = opened.damaged()
        rows = [
            Requirement("content", "fail", "as it was written", f"{name} was changed", _AGAIN)
            for name in damaged[:1]
        ]
        return Check(check_file_path(path), there, (*rows, *check_file_requirements(opened, there)))


def inspect_and_check(path: str | PathLike[str], *, verify: bool = False) -> ArtifactReport:
    """Look inside a file, and say whether it can be loaded on this machine."""
    return replace(inspect(path, verify=verify), loads=describe_loading(check(path)))


def describe_loading(found: Check) -> str:
    """Whether a file can be loaded on this machine, with what stands in the way."""
    by_verdict: dict[str, list[Requirement]] = {}
    for row in found.requirements:
        by_verdict.setdefault(row.verdict, []).append(row)
    if failed := by_verdict.get("fail"):
        first, more = failed[0], len(failed) - 1
        rest = f", and {plural(more, 'other requirement')}" if more else ""
        needs = f"{first.name} {first.needed}, found {first.found}"
        return f"not on this machine: it needs {needs}{rest}. wb.check(path) lists all requirements"
    if unknown := by_verdict.get(NOT_CHECKED):
        needs = f"{unknown[0].name} ({unknown[0].needed})"
        return f"not checked: {needs}. wb.check(path) lists all requirements"
    warned = [row.advice for row in by_verdict.get("warn", ()) if row.advice]
    return "; ".join(["on this machine", *warned[:1]])


_SHIM = ("aoti_torch_", "torch_")
_TARGET = re.compile(rb"^\.target\s+(sm_\d+[af]?)", re.MULTILINE)
_CPP_STREAM = "_ZSt4cerr"
_PTX_HEAD = 4096  # bytes; the target is in the first lines


def check_file_requirements(opened: OpenedFile, machine: Machine) -> Iterator[Requirement]:
    """Everything that an opened file needs; executes nothing from it."""
    if opened.library is not None:
        advice = "a bare library cannot be called: make a package with wb.package"
        yield Requirement("inputs and outputs", "fail", "named in the file", "not named", advice)
        yield from _interface(read_libraries(opened.library), machine)
    elif opened.artifact is not None:
        yield from check_requirements(opened.artifact.manifest, machine)
        yield from _outside(opened.artifact.manifest, machine)
    elif opened.package is None:
        yield from _torch_function(opened, machine)
    elif opened.kind == "exported program":
        yield from _exported(opened, machine)
    else:
        yield from _package(opened.package, machine)


def _package(package: OpenedPackage, machine: Machine) -> Iterator[Requirement]:
    libraries = read_libraries(package)
    code = find_gpu_code(package, libraries)
    manifest = package.manifest
    if manifest is not None:
        yield from check_package_requirements(manifest, machine, code)
        if manifest.are_variants:
            fits = sort_fitting_variants(manifest, machine, code)
            usable = {fit.name for fit in fits if fit.fits}
            folders = [f"{m.folder}/" for m in manifest.models if m.name in usable]
            libraries = _below(libraries, tuple(folders))
    else:
        yield from list_torch_package_rows(package, machine, libraries)
        yield from list_code_rows(code, _toolkit_of(libraries), machine)
    yield from _interface(libraries, machine)
    yield from _runtime(libraries)


def _below(libraries: Libraries, folders: tuple[str, ...]) -> Libraries:
    """Only the libraries in some folders: those of variants that are not used need nothing."""
    return Libraries(
        tuple(row for row in libraries.libraries if row.member.startswith(folders)),
        tuple(row for row in libraries.sections if row.library.startswith(folders)),
        tuple(row for row in libraries.symbols if row.library.startswith(folders)),
    )


def _toolkit_of(libraries: Libraries) -> tuple[int, ...]:
    """The major release of CUDA, from the name of the runtime that a library needs."""
    names = [name for row in libraries.libraries for name in row.needed]
    matches = [match for name in names if (match := re.fullmatch(r"libcudart\.so\.(\d+).*", name))]
    return (int(matches[0][1]), 0) if matches else ()


def _runtime(libraries: Libraries) -> Iterator[Requirement]:
    """A library with all of libstdc++ in it, which a load refuses: see `machine.elf_loading`."""
    if any(symbol.exported and symbol.name == _CPP_STREAM for symbol in libraries.symbols):
        advice = "package it again with a compiler that links libstdc++ dynamically"
        yield Requirement("C++ runtime", "fail", "that of the process", "one of its own", advice)


def _interface(libraries: Libraries, machine: Machine) -> Iterator[Requirement]:
    """Whether torch here has every function of its C interface that the libraries call."""
    names = {s.name for s in libraries.symbols if not s.exported and s.name.startswith(_SHIM)}
    if not names:
        return
    words = plural(len(names), "function")
    if not machine.is_here:
        advice = "can be checked only on that machine"
        yield Requirement("torch's C interface", NOT_CHECKED, words, "not described", advice)
        return
    folder = find_torch_folder()
    missing = find_undefined(
        names, sorted((folder / "lib").glob("lib*torch*.so")) if folder else []
    )
    available = f"without {', '.join(missing[:3])}" if missing else "all of them"
    advice = "recompile with the torch release installed here"
    yield machine.compared("torch's C interface", not missing, words, available, advice)


def _torch_function(opened: OpenedFile, machine: Machine) -> Iterator[Requirement]:
    """Torch compares exact releases, and compiles the kernels again when it loads its file."""
    needed = {need.name: need.needed for need in read_facts(opened).needs}
    row = machine.compared
    again = "torch loads it only in the same release; recompile it there, or use Compiled.save"
    releases = {"python": machine.full_python or machine.python, "torch": machine.torch}
    for name in ("python", "torch"):
        if name in needed:
            yield row(name, needed[name] == releases[name], needed[name], releases[name], again)
    if "triton" in needed and "gpu" in needed:
        fits = needed["triton"] == machine.triton
        yield row("triton", fits, needed["triton"], machine.triton, again)
    if gpu := needed.get("gpu"):
        names = ", ".join(g.name for g in machine.gpus)
        yield row("gpu", gpu in names, gpu, names or None, "torch refuses any other GPU")
    advice = "torch recompiles the kernels on every new machine; a Compiled.save file keeps them"
    needs = "a C++ compiler for CPU kernels"
    yield Requirement("compiler", NOT_CHECKED, needs, "not looked for", advice)


def _exported(opened: OpenedFile, machine: Machine) -> Iterator[Requirement]:
    """Torch reads programs of older releases; those of newer ones as far as it can."""
    row = machine.compared
    for need in read_facts(opened).needs:
        if need.name != "torch":
            continue
        exported, there = (numbers(v.partition("+")[0])[:2] for v in (need.needed, machine.torch))
        again = "install that torch release, or export again with the installed one"
        yield row("torch", there >= exported, need.needed, machine.torch, again)
    advice = (
        "the file is an exported graph without compiled code; compile it with wb.package to start "
        "in milliseconds"
    )
    yield Requirement("compiled code", "warn", "none", "none", advice)


def _outside(manifest: Manifest, machine: Machine) -> Iterator[Requirement]:
    """Modules that are imported when the file is loaded, and objects that the caller gives."""
    call = manifest.call
    modules = {str(p if isinstance(p, str) else p[0]) for p in call.imports.values() if p}
    modules |= {*manifest.aliases.values(), call.function_module or ""}
    for module in sorted({name.split(":")[0] for name in modules} - {"", "__main__"}):
        yield _module_row(module, machine)
    if call.receiver and manifest.weights is None:
        advice = "pass the object: wb.load(..., module=model)"
        yield Requirement("weights", "warn", call.receiver, "not in the file", advice)
    for name in manifest.external_data:
        advice = f"pass it: wb.load(..., external_data={{{name!r}: …}})"
        yield Requirement("external data", "warn", name, "given by the caller", advice)
    for name in manifest.missing_names:
        advice = f"pass it: wb.load(..., f_globals={{{name!r}: …}})"
        yield Requirement("global", "warn", name, "given by the caller", advice)


def _module_row(module: str, machine: Machine) -> Requirement:
    top = module.split(".")[0]
    if not machine.modules and not machine.is_here:
        advice = "the description lists no modules; write it with python -m workbench.machine"
        return Requirement("module", NOT_CHECKED, module, "not described", advice)
    if machine.modules:
        has = top in machine.modules
    else:  # found without importing it
        has = top in sys.modules or importlib.util.find_spec(top) is not None
    if not has and not machine.is_here:
        advice = "not an installed package there; it may be in a local folder"
        return Requirement("module", NOT_CHECKED, module, "not listed", advice)
    advice = "install it, or start Python in a folder that has it"
    return machine.compared("module", has, module, top if has else None, advice)


def find_gpu_code(package: OpenedPackage, libraries: Libraries) -> tuple[GpuCode, ...]:
    """What the members of a package hold for GPUs, by their ELF headers and PTX targets."""
    machines = {row.machine for row in libraries.libraries}
    parts = {GpuCode("machine code", name) for name in machines if name.startswith("sm_")}
    for name in package.entries:
        if name.endswith(".fatbin"):
            parts.add(GpuCode("bundle", ""))
        elif name.endswith(".ptx"):
            target = _TARGET.search(package.part(name).read_at(0, _PTX_HEAD))
            parts |= {GpuCode("PTX", target[1].decode())} if target else set()
    capability = package.read_metadata().get("AOTI_COMPUTE_CAPABILITY", "")
    if not parts and capability.isdecimal():
        parts.add(GpuCode("machine code", f"sm_{capability}"))
    return tuple(sorted(parts, key=lambda part: (part.kind, part.arch)))
