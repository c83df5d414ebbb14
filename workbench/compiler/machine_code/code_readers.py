"""Compiled configurations of Triton kernels: noted, read, as rows of the table `assembly`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.machine_code import listings
from workbench.compiler.machine_code.cubin_tools import Inspected, Usage, read_cubin_usage
from workbench.compiler.machine_code.cubin_tools import inspect_cubins as inspect_cubins
from workbench.compiler.machine_code.cubin_tools import list_tool_versions as list_tool_versions
from workbench.compiler.machine_code.listings import Chain, Listing
from workbench.compiler.machine_code.occupancy import combine_registers, compute_occupancy
from workbench.report import TextWriter
from workbench.report.machine_rows import Assembly, Resources, Runs
from workbench.specs.device import Device

_FIELD = re.compile(
    r"^[ \t]*+(?:[.;][ \t]*+)?\.?"
    r"(vgpr_count|agpr_count|sgpr_count|vgpr_spill_count|sgpr_spill_count|"
    r"private_segment_fixed_size|group_segment_fixed_size):[ \t]+(\d{1,9})\b",
    re.MULTILINE,
)
INSTRUCTION = re.compile(r"^\t((?:s|v|ds|global|buffer|flat|scratch)_\w+)")
PANE = "assembly"
_GLUON = "glir"  # what releases after 3.7 call the TTGIR that a kernel of Gluon begins as
_TEXTS = ("ttir", "ttgir", "llir", "ptx", "amdgcn")
Value = TypeVar("Value")


def read_amd_usage(amdgcn: str) -> dict[str, Any]:
    """Fields of `Resources` in AMD's assembly: registers of a lane, bytes, spills."""
    fields = {name: int(value) for name, value in _FIELD.findall(amdgcn)}
    vector, accumulation = fields.get("vgpr_count"), fields.get("agpr_count", 0)
    spills = [fields[name] for name in ("vgpr_spill_count", "sgpr_spill_count") if name in fields]
    return {
        # the metadata count both kinds together since CDNA 2
        "registers": vector if vector is not None else combine_registers(0, accumulation),
        "scalar_registers": fields.get("sgpr_count"),
        "spill_stores": sum(spills) if spills else None,
        "stack": fields.get("private_segment_fixed_size"),
        "smem_static": fields.get("group_segment_fixed_size"),
        "instructions": sum(map(bool, map(INSTRUCTION.match, amdgcn.splitlines()))) or None,
    }


def read_usage(kernel: Any, device: Device) -> dict[str, Any]:
    """What the code of a compiled kernel says of itself, as fields of `Resources`.

    Its registers and its stack among them; nothing where CUDA's tools cannot be asked.
    """
    if device.kind.binary != "cubin":
        return read_amd_usage(_read_stage(kernel, "amdgcn").decode())
    usage, _ = read_cubin_usage(_read_stage(kernel, "cubin"))
    return {} if usage is None else {"registers": usage.registers, "stack": usage.stack}


def _read_stage(kernel: Any, stage: str) -> bytes:
    """What one stage made of a kernel; Inductor's own launcher keeps only where the files are."""
    asm = getattr(kernel, "asm", None)
    if asm is None:
        return Path(kernel.cubin_path).with_suffix(f".{stage}").read_bytes()
    return asm[stage] if isinstance(asm[stage], bytes) else str(asm[stage]).encode()


_READERS = {
    **dict.fromkeys(("ttir", "ttgir"), listings.mlir),
    "llir": listings.llvm,
    **dict.fromkeys(("ptx", "amdgcn"), listings.assembler),
}


@dataclass(frozen=True)
class MachineCode:
    """What was read of one configuration; `missing` says why there is no SASS."""

    listings: dict[str, Listing]
    resources: Resources
    missing: str | None


def read_codes(configs: Sequence[CompiledConfig], device: Device) -> list[MachineCode]:
    """Read every text of configurations and count what each takes of the device."""
    if device.kind.binary != "cubin":
        return [_of_amd(config, device) for config in configs]
    inspected = inspect_cubins([config.binary for config in configs])
    return [_of_nvidia(*pair, device) for pair in zip(configs, inspected, strict=True)]


def read_code(config: CompiledConfig, device: Device) -> MachineCode:
    """Read every text of one configuration; several are read in less time by `read_codes`."""
    (code,) = read_codes([config], device)
    return code


def read_texts(config: CompiledConfig, device: Device | None) -> MachineCode:
    """What the texts of a configuration say, where its binary is elsewhere.

    Only AMD's assembly names registers; SASS, where it is among the texts, tells instructions and
    spills. `device` is one of that architecture, whose limits set the occupancy.
    """
    texts, row = _listings(config), _begun(config)
    if "amdgcn" in texts:
        row = replace(row, **read_amd_usage(config.texts["amdgcn"]))
    if "sass" in config.texts:
        code = listings.sass(config.texts["sass"], texts.get("ptx", Listing((), ())))
        texts["sass"] = code
        row = replace(row, **_counted(code))
    return MachineCode(texts, row if device is None else _with_occupancy(row, device), None)


def _listings(config: CompiledConfig) -> dict[str, Listing]:
    return {s: _READERS[s](text) for s, text in config.texts.items() if s in _READERS}


def _of_amd(config: CompiledConfig, device: Device) -> MachineCode:
    row = replace(_begun(config), **read_amd_usage(config.texts.get("amdgcn", "")))
    return MachineCode(_listings(config), _with_occupancy(row, device), None)


def _of_nvidia(config: CompiledConfig, inspected: Inspected, device: Device) -> MachineCode:
    texts, row = _listings(config), _begun(config)
    missing = inspected.note
    if inspected.sass is not None and "ptx" in texts:
        code = listings.sass(inspected.sass, texts["ptx"])
        if code.lines:
            texts["sass"] = code
            row = replace(row, **_counted(code))
        else:
            missing = f"this nvdisasm release cannot read code for {device.spec.arch}"
    if inspected.usage is not None:
        row = replace(row, **_used(inspected.usage, device))
    return MachineCode(texts, _with_occupancy(replace(row, note=missing), device), missing)


def read_resources(config: CompiledConfig, device: Device) -> Resources:
    """What a configuration takes of the device, its code read only where that shows spills.

    A third of the time of `read_code`: instructions are not counted.
    """
    if device.kind.binary == "cubin":
        usage, missing = read_cubin_usage(config.binary)
        if usage is not None and not usage.stack:
            row = replace(_begun(config), **_used(usage, device), note=missing)
            return _with_occupancy(row, device)
    return read_code(config, device).resources


def read_machine_text(config: CompiledConfig) -> str:
    """SASS or AMD assembly as the tools print it; empty where it cannot be had."""
    if "amdgcn" in config.texts:
        return config.texts["amdgcn"]
    return inspect_cubins([config.binary])[0].sass or ""


def _begun(config: CompiledConfig) -> Resources:
    return Resources(
        kernel="",
        config="",
        choice=config.choice,
        warps=config.warps,
        stages=config.stages,
        smem_dynamic=config.dynamic_shared,
    )


def _used(usage: Usage, device: Device) -> dict[str, Any]:
    static = max(0, usage.shared - device.spec.shared_reserved)  # counted by the tool as static
    usage_row = {"registers": usage.registers, "stack": usage.stack, "smem_static": static}
    # without a stack there is nothing to spill to, also where the code cannot be read
    return usage_row if usage.stack else usage_row | {"spill_stores": 0, "spill_loads": 0}


def _counted(listing: Listing) -> dict[str, Any]:
    """Instructions, and those that spill: local memory is used for nothing else by Triton."""
    names = [match[1] for match in map(listings.SASS_INSTRUCTION.match, listing.lines) if match]
    opcodes = [opcode.partition(".")[0] for opcode in names]
    return {
        "instructions": len(opcodes),
        "spill_stores": opcodes.count("STL"),
        "spill_loads": opcodes.count("LDL"),
    }


def _with_occupancy(row: Resources, device: Device) -> Resources:
    if row.registers is None:
        return row
    occupancy = compute_occupancy(
        device.spec,
        threads=row.warps * device.spec.warp_size,
        registers=row.registers,
        shared=(row.smem_static or 0) + (row.smem_dynamic or 0),
        scalar_registers=row.scalar_registers or 0,
    )
    return replace(
        row,
        blocks=occupancy.blocks,
        occupancy=occupancy.ratio,
        limiter=occupancy.limiter,
        note=occupancy.reason or row.note,
    )


@dataclass(frozen=True)
class CompiledConfig:
    """One kernel in one configuration; `dynamic_shared` is bytes of a block.

    `file` is the kernel's source, whose text `source` is, without so many `lines_before` it;
    `binary` is a cubin or a code object of AMD.
    """

    kernel: str
    file: str
    source: str
    choice: str
    warps: int
    stages: int
    dynamic_shared: int
    texts: Mapping[str, str]
    binary: bytes
    lines_before: int = 0


class ConfigRecorder:
    """Hands over each configuration when it has been compiled, before a device loads it."""

    def __init__(self, patches: Patches, listener: Callable[[CompiledConfig], object]):
        self._patches = patches
        self._listener = listener
        self._sources: dict[str, str] = {}
        self._seen: dict[int, Any] = {}  # by identity; keeps them, so that it stays theirs

    def install(self) -> None:
        """Watch the compilation of kernels."""
        # where a device is there, a kernel that was loaded has forgotten where its files are
        self._patches.observe(tp.MAKE_LAUNCHERS, PANE, before=self._on_tuner)
        self._patches.observe(tp.AUTOTUNER_PRECOMPILE, PANE, after=self._on_kernel)

    def _on_kernel(self, _: None, tuner: Any, *args: Any, **kwargs: Any) -> None:
        self._on_tuner(tuner)

    def _on_tuner(self, tuner: Any) -> None:
        for result in tuner.compile_results:  # also when it was compiled before, in this process
            if id(result) not in self._seen:
                self._seen[id(result)] = result
                self._on_config(result.kernel, tuner, result.config)

    def _on_config(self, kernel: Any, tuner: Any, config: Any) -> None:
        texts, binary = code_of(kernel) if hasattr(kernel, "asm") else _from_cache(kernel, tuner)
        metadata = getattr(kernel, "metadata", kernel)
        # a kernel from another process comes without its function
        function = getattr(tuner.fn, "fn", None)
        file = str(tuner.filename) if function is None else function.__code__.co_filename
        if file not in self._sources:
            self._sources[file] = Path(file).read_text()
        choice = ", ".join(f"{name}={value}" for name, value in config.kwargs.items())
        name = tuner.inductor_meta.get("kernel_name") or tuner.fn.__name__
        self._listener(
            CompiledConfig(
                kernel=str(name),
                file=file,
                source=self._sources[file],
                choice=choice,
                warps=int(metadata.num_warps),
                stages=int(config.num_stages),
                dynamic_shared=int(metadata.shared),
                texts=texts,
                binary=binary,
            )
        )


def code_of(kernel: Any) -> tuple[dict[str, str], bytes]:
    """The text of each stage and the binary of what `triton.compile` returned."""
    asm = kernel.asm
    texts = {stage: str(asm[stage]) for stage in _TEXTS if stage in asm}
    if "ttgir" not in texts and _GLUON in asm:
        texts = {"ttgir": str(asm[_GLUON]), **texts}
    return texts, next((bytes(asm[k]) for k in ("cubin", "hsaco") if k in asm), b"")


def _from_cache(kernel: Any, tuner: Any) -> tuple[dict[str, str], bytes]:
    """Inductor's own launcher keeps only the place of the binary, beside which the texts lie."""
    binary = Path(kernel.cubin_path) if kernel.cubin_path else _in_cache(kernel, tuner)
    files = {stage: binary.with_suffix(f".{stage}") for stage in _TEXTS}
    texts = {stage: file.read_text() for stage, file in files.items() if file.exists()}
    return texts, binary.read_bytes()


def _in_cache(kernel: Any, tuner: Any) -> Path:
    """The binary of a kernel that is on the device already, in Triton's cache."""
    folder = Path(tp.TRITON_CACHE_FOLDER.get()(tuner.triton_meta.get("device", 0)))
    stem = folder / str(tp.TRITON_HASH_KEY.get()(kernel.hash)) / str(kernel.name)
    cubin = stem.with_suffix(".cubin")
    return cubin if cubin.exists() else stem.with_suffix(".hsaco")


def runs(values: Iterable[Value]) -> Iterator[tuple[int, int, Value]]:
    """First line, last line (from 1) and value of each run of equal values."""
    first, last = 1, 0
    current: Any = None
    for last, value in enumerate(values, 1):
        if last > first and value != current:
            yield first, last - 1, current
            first = last
        current = value
    if last:
        yield first, last, current


def joined(lines: Iterable[tuple[int, int]]) -> Runs:
    """Runs of pairs of a line and the line that it comes from, 0 for none, in order."""
    merged: list[tuple[int, int, int]] = []
    for number, origin in lines:
        if origin <= 0:
            continue
        if merged and merged[-1][1] == number - 1 and merged[-1][2] == origin:
            merged[-1] = (merged[-1][0], number, origin)
        else:
            merged.append((number, number, origin))
    return tuple(merged)


def find_source_runs(listing: Listing, file: str, offset: int, last: int = 1 << 30) -> Runs:
    """Runs with their line in the kernel's own `file`, of whose text `last` lines are kept.

    That text begins `offset` lines later. What a helper of the same file became counts for the
    line that calls it.
    """

    def own(chain: Chain) -> int:
        lines = (place.line - offset for place in chain if place.base == file)
        return next((line for line in lines if 0 < line <= last), 0)

    line_runs = runs(_of_each(listing.chains, own))
    return tuple((first, last, line) for first, last, line in line_runs if line > 0)


def find_helper_runs(listing: Listing, file: str) -> tuple[tuple[int, int, str, int], ...]:
    """Runs that come from another file than the kernel's, with their line there."""

    def helper(chain: Chain) -> tuple[str, int] | None:
        return (chain[0].file, chain[0].line) if chain and chain[0].base != file else None

    line_runs = runs(_of_each(listing.chains, helper))
    return tuple((first, last, *place) for first, last, place in line_runs if place is not None)


def _of_each(chains: Iterable[Chain], value: Callable[[Chain], Value]) -> Iterator[Value]:
    """The value of every chain, found once for the many lines that share one."""
    by_chain: dict[int, Value] = {}
    for chain in chains:
        if id(chain) not in by_chain:
            by_chain[id(chain)] = value(chain)
        yield by_chain[id(chain)]


def find_ptx_runs(listing: Listing) -> Runs:
    """Runs with their line in the PTX."""
    return tuple((first, last, line) for first, last, line in runs(listing.ptx) if line > 0)


MOST_TEXT = 100_000_000
"""Characters of assembly that a report keeps; what comes later is named without its text."""


class NamesFiles(Protocol):
    """Knows what files of a machine are called in a report."""

    def shared(self, text: str, /) -> str:
        """A text with the files in it under these names."""

    def shown(self, file: str, /) -> str:
        """The name of a file."""


class AssemblyRows:
    """Rows whose texts go to `writer`, until there is too much of them."""

    def __init__(self, writer: TextWriter, places: NamesFiles):
        self._writer = writer
        self._places = places
        self._kept = 0

    def of(
        self, kernel: str, id: str, config: CompiledConfig, code: MachineCode
    ) -> Iterator[Assembly]:
        """A row for each stage of one configuration."""
        file = os.path.basename(config.file)
        source = config.source.lstrip("\n")
        offset = config.lines_before + len(config.source) - len(source)
        last = source.count("\n") + 1
        for stage, listing in code.listings.items():
            size = sum(map(len, listing.lines))
            if self._kept + size > MOST_TEXT:
                note = f"not kept: the report already holds {MOST_TEXT // 10**6} MB of assembly"
                yield Assembly(kernel, id, stage, None, note=note)
                continue
            self._kept += size
            yield Assembly(
                kernel,
                id,
                stage,
                self._writer.add(self._places.shared("\n".join(listing.lines))),
                lines=find_source_runs(listing, file, offset, last),
                inlined=tuple(
                    (first, last, self._places.shown(helper), line)
                    for first, last, helper, line in find_helper_runs(listing, file)
                ),
                ptx=find_ptx_runs(listing),
            )
        if code.missing is not None:
            yield Assembly(kernel, id, "sass", None, note=code.missing)
