"""The tensors of a kernel with their layouts, and its accesses of memory, read of its TTGIR.

Triton's own parser reads it, in a process that may end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path, PurePath
from typing import Any, Literal

from workbench.compiler.internals.triton_layouts import (
    KNOWN_SHARED,
    Bases,
    Held,
    Operation,
    TritonModule,
)
from workbench.temporary import make_temporary_folder

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_INLINE = re.compile(r"\s*// (begin|end) inline asm")
_PTX = re.compile(
    r"\b(ld|st|atom|red)\.(?:[\w:]+\.)*?global\S*?(?:\.v(\d))?\.(?:bf|[busf])(\d+)(?:x(\d))?\s"
    r"|\bcp\.async\.c[ag]\.shared\.global\S*\s+\[[^\]]*\],\s*\[[^\]]*\],\s*(0x[0-9a-fA-F]+|\d+)"
)
_AMD = re.compile(r"\t(?:global|buffer|flat)_(load|store|atomic)(?:_lds)?(?:_d16)?(?:_hi)?_(\w+)")
_AMD_BYTES = {
    "dword": 4,
    "dwordx2": 8,
    "dwordx3": 12,
    "dwordx4": 16,
    "ubyte": 1,
    "sbyte": 1,
    "byte": 1,
    "ushort": 2,
    "sshort": 2,
    "short": 2,
    "byte_d16_hi": 1,
    "short_d16_hi": 2,
    "ubyte_d16": 1,
    "ubyte_d16_hi": 1,
    "short_d16": 2,
}
_KINDS = {"ld": "read", "load": "read", "st": "write", "store": "write"}


@dataclass(frozen=True)
class Widths:
    """Bytes of instructions by file, line, column and "read", "write" or "atomic".

    Lines and columns are from 1, the narrowest instruction is the first.
    """

    bytes: Mapping[tuple[str, int, int, str], tuple[int, ...]] = field(default_factory=dict)

    def find(self, file: str, line: int, column: int, kind: str) -> tuple[int, ...]:
        """Those of one place; where its column has none, those of its line, if they are alike."""
        name = PurePath(file).name
        exact = self.bytes.get((name, line, column, kind))
        if exact is not None:
            return exact
        here = {
            widths
            for (base, number, _, what), widths in self.bytes.items()
            if (base, number, what) == (name, line, kind)
        }
        return here.pop() if len(here) == 1 else ()


def read_widths(texts: Mapping[str, str]) -> Widths:
    """The widths in the code for a GPU; none where there is no such text."""
    text = texts.get("ptx") or texts.get("amdgcn") or ""
    lines = text.splitlines()
    files = {match[1]: PurePath(match[2]).name for match in map(_FILE.match, lines) if match}
    by_place: dict[tuple[str, int, int, str], set[int]] = {}
    place = "", 0, 0
    is_inline = False
    for line in lines:
        if match := _INLINE.match(line):
            is_inline = match[1] == "begin"
        elif match := _LOC.match(line):
            # inside of inline assembly LLVM counts its lines on; line 0 is none of the source
            if match[2] != "0" and not is_inline:
                place = files.get(match[1], ""), int(match[2]), int(match[3]) + 1
        elif moved := _read_instruction(line):
            by_place.setdefault((*place, moved[0]), set()).add(moved[1])
    return Widths({key: tuple(sorted(widths)) for key, widths in by_place.items()})


def _read_instruction(line: str) -> tuple[str, int] | None:
    """What an instruction does to global memory, and its bytes for one thread."""
    if match := _PTX.search(line):
        if match[5]:
            return "read", int(match[5], 0)
        count = int(match[2] or 1) * int(match[4] or 1)
        return _KINDS.get(match[1], "atomic"), count * int(match[3]) // 8
    if match := _AMD.match(line):
        kind = _KINDS.get(match[1], "atomic")
        if kind == "atomic":
            return kind, 8 if match[2].endswith(("x2", "64")) else 4
        name = match[2]
        bits = re.fullmatch(r"[biu](\d+)(?:_d16)?(?:_hi)?", name)
        size = int(bits[1]) // 8 if bits else _AMD_BYTES.get(name)
        return None if size is None else (kind, size)
    return None


Kind = Literal["read", "write", "atomic"]

_GLOBAL: Mapping[str, Kind] = {
    "tt.load": "read",
    "tt.store": "write",
    "tt.atomic_rmw": "atomic",
    "tt.atomic_cas": "atomic",
    "ttg.async_copy_global_to_local": "read",
    "amdg.buffer_load": "read",
    "amdg.buffer_load_to_local": "read",
    "amdg.buffer_store": "write",
    "amdg.buffer_atomic_rmw": "atomic",
    "amdg.buffer_atomic_cas": "atomic",
}
_SHARED = {"ttg.local_load", "ttg.local_store", "ttg.local_alloc"}
_DRAWN = {"tt.dot", "ttng.warp_group_dot", "ttg.convert_layout", "tt.reduce", "tt.scan"}
_BULK = re.compile(
    r"ttng\.async_tma_(copy|reduce|gather|scatter)\w*|tt\.descriptor_\w+|amdg\.async_tdm_copy\w*"
)
BY_TMA = "moved by TMA: no layout in registers"
ONE_ADDRESS = "one address for all lanes"
_NAMED = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_PLACE = re.compile(r'"([^"]*)":(\d{1,9}):(\d{1,9})')
_OPERATION = re.compile(r"^\s*(?:%[^=]*= )?([a-z]\w*\.[\w.]+)\b.* loc\((.*)\)$")
_BITS = re.compile(r"[a-zA-Z]+(\d+)")
_NVIDIA_LANES = 32
_NO_LAYOUT: Bases = ((), (), (), ())
_TRITON = f"{os.sep}triton{os.sep}"
_Place = tuple[str, int, int]


@dataclass(frozen=True)
class LaidTensor:
    """A tensor that an operation has in registers; of an access of memory with its kind.

    Lines and columns are from 1, 0 where they are not known. `bases` is empty where there is no
    layout in registers; `layout` says why. `conflicts` is how often more than once a wavefront
    waits for the banks of `shared`, None where it is not known, and `note` says why. `ways` is by
    how many chains of calls its place is reached: more than one in a helper that is called twice.
    """

    op: str
    file: str
    line: int
    column: int
    shape: tuple[int, ...]
    bits: int
    layout: str
    bases: Bases = ()
    kind: Kind | None = None
    shared: str = ""
    conflicts: int | None = None
    note: str = ""
    ways: int = 1

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many elements a thread holds, lanes a warp has, and warps there are."""
        registers, lanes, warps = (1 << len(part) for part in self.bases[:3] or ((), (), ()))
        return registers, lanes, warps


@dataclass(frozen=True)
class LaidKernel:
    """The tensors of a kernel, the widths of its instructions; `note` says why there are none."""

    tensors: tuple[LaidTensor, ...] = ()
    widths: Widths = field(default_factory=Widths)
    note: str = ""

    def place_in(self, file: str) -> LaidKernel:
        """The same with `file` where TTGIR names one of its name in another folder.

        Triton's cache knows code by its text and lines, not by its folder: what it compiled once
        names the folder of that time, for a cell of a notebook one that is gone with its kernel.
        """
        name = PurePath(file).name
        placed = (
            replace(tensor, file=file) if PurePath(tensor.file).name == name else tensor
            for tensor in self.tensors
        )
        return replace(self, tensors=tuple(placed))


def read_laid(texts: Mapping[str, str]) -> LaidKernel:
    """What the texts of a compiled kernel say, by stage."""
    ttgir = texts.get("ttgir")
    if ttgir is None:
        return LaidKernel(note="it has no TTGIR")
    try:
        return LaidKernel(tuple(read_tensors(ttgir)), read_widths(texts))
    except RuntimeError as error:
        return LaidKernel(note=f"Triton cannot read back its own TTGIR: {error}")


def read_tensors(ttgir: str) -> list[LaidTensor]:
    """The tensors of accesses, products, reductions and conversions, in the order of the text.

    One for each place, kind, shape and layout: what pipelining repeats is there once.
    """
    with make_temporary_folder("aot-workbench-layouts-") as folder:
        path = Path(folder) / "kernel.ttgir"
        path.write_text(ttgir)
        module = TritonModule(str(path))
        reader = _Reader(module, ttgir)
        tensors: dict[tuple[object, ...], LaidTensor] = {}
        for operation in module.list_operations():
            for laid in reader.read(operation):
                key = laid.op, laid.file, laid.line, laid.column, laid.kind, laid.shape, laid.layout
                tensors.setdefault(key, laid)
    return [replace(laid, ways=reader.count_ways(laid)) for laid in tensors.values()]


class _Reader:
    """Reads operations one after the other; of those without a result the text has the place."""

    def __init__(self, module: TritonModule, ttgir: str):
        self._module = module
        self._named: dict[str, str] = {}
        self._places: dict[str, list[str]] = {}
        self._chains: dict[tuple[object, ...], set[tuple[_Place, ...]]] = {}
        for line in ttgir.splitlines():
            if match := _NAMED.match(line):
                self._named[match[1]] = match[2]
            elif match := _OPERATION.match(line):
                self._places.setdefault(match[1], []).append(match[2])
        for places in self._places.values():
            places.reverse()

    def read(self, operation: Operation) -> Iterator[LaidTensor]:
        name = operation.name
        waiting = self._places.get(name)
        place = waiting.pop() if waiting else ""
        if operation.results and not place:
            place = operation.results[0].place
        if name in _GLOBAL:
            yield self._describe(operation, _find_addresses(operation), place, _GLOBAL[name])
        elif _BULK.fullmatch(name):
            yield self._describe_bulk(operation, place)
        elif name in _SHARED:
            held = next((value for value in _all(operation) if value.is_tensor), None)
            if held is not None:
                yield self._describe(operation, held, place, None)
        elif name in _DRAWN:
            for held in (*operation.operands, *operation.results)[-1 if "layout" in name else 0 :]:
                if held.is_tensor:
                    yield self._describe(operation, held, place, None)

    def count_ways(self, tensor: LaidTensor) -> int:
        """By how many chains of calls the place of a tensor that was read is reached."""
        return len(self._chains[tensor.file, tensor.line, tensor.column, tensor.kind])

    def _describe(
        self, operation: Operation, held: Held, place: str, kind: Kind | None
    ) -> LaidTensor:
        bits = _count_bits(held.type if "!tt.ptr" in held.type else _find_value(operation, held))
        words, bases = ONE_ADDRESS, _NO_LAYOUT
        if held.is_tensor:
            words = name_layout(self._module.read_layout(held))
            bases = self._module.find_bases(held)
        moves = operation.name in _SHARED or kind is not None
        banks = self._count_conflicts(operation, held, bits) if moves else {}
        return LaidTensor(
            operation.name,
            *self._find_place(place, kind),
            held.shape,
            bits,
            words,
            bases,
            kind,
            **banks,
        )

    def _describe_bulk(self, operation: Operation, place: str) -> LaidTensor:
        moved = [value for value in _all(operation) if value.is_shared or value.is_tensor]
        held = max(moved, key=lambda value: prod(value.shape), default=None)  # not its barrier
        words = BY_TMA if "tdm" not in operation.name else BY_TMA.replace("TMA", "the data mover")
        is_write = re.search(r"local_to_global|store|scatter", operation.name) is not None
        kind: Kind = "atomic" if "reduce" in operation.name else "write" if is_write else "read"
        shape, bits = (held.shape, _count_bits(held.type)) if held else ((), 0)
        where = self._find_place(place, kind)
        return LaidTensor(operation.name, *where, shape, bits, words, kind=kind)

    def _count_conflicts(self, operation: Operation, held: Held, bits: int) -> dict[str, Any]:
        """Fields about the shared memory that a tensor is read from or written to, if any."""
        shared = next((value for value in _all(operation) if value.is_shared), None)
        if shared is None or not held.is_tensor:
            return {}
        name = (re.search(r"#\w+\.\w+", shared.type) or [""])[0]
        words = {"shared": name.rpartition(".")[2].replace("_", " ")}
        if not name.startswith(KNOWN_SHARED):
            return words | {"note": f"Triton does not count bank conflicts for {name}"}
        if self._module.lanes != _NVIDIA_LANES:
            return words | {"note": "Triton counts bank conflicts only for NVIDIA"}
        if shared.shape != held.shape:
            return words | {"note": "the shared-memory tensor has a different shape"}
        return words | {"conflicts": self._module.count_conflicts(held, shared, bits)}

    def _find_place(self, place: str, kind: Kind | None) -> _Place:
        """The innermost place in the user's code; those that it is called from are noted."""
        chain: list[_Place] = []
        waiting, count = [place], 0
        while waiting and count < 256:
            part, count = waiting.pop(0), count + 1
            for match in re.finditer(rf"{_PLACE.pattern}|(#loc\d*)\b", part):
                if match[4]:
                    waiting.append(self._named.get(match[4], ""))
                elif _TRITON not in match[1]:
                    chain.append((match[1], int(match[2]), int(match[3]) + 1))
        innermost = chain[0] if chain else ("", 0, 0)
        self._chains.setdefault((*innermost, kind), set()).add(tuple(chain))
        return innermost


def _all(operation: Operation) -> tuple[Held, ...]:
    return (*operation.operands, *operation.results)


def _find_addresses(operation: Operation) -> Held:
    """The operand that says where each element is: pointers, or offsets from one."""
    operands = operation.operands
    for number, held in enumerate(operands):
        if "!tt.ptr" in held.type:
            if "buffer" in operation.name:
                return next(operand for operand in operands[number + 1 :] if operand.is_tensor)
            return held
    return operands[0]


def _find_value(operation: Operation, held: Held) -> str:
    """The type of what is moved: of a buffer that of its pointer."""
    return next(
        (operand.type for operand in operation.operands if "!tt.ptr" in operand.type), held.type
    )


def _count_bits(type: str) -> int:
    """The bits of an element in memory, of a type as Triton writes it."""
    inner = type.partition("!tt.ptr<")[2] or re.sub(
        r"^(?:tensor|!ttg\.memdesc)<(?:\d+x)*", "", type
    )
    if inner.startswith("!tt.ptr"):
        return 64
    match = _BITS.match(inner)
    return max(8, int(match[1])) if match else 8


def name_layout(layout: Any) -> str:
    """A layout in words: what deals the elements, and how many each thread has of a piece."""
    name = type(layout).__name__
    if name == "SliceLayout":
        return f"axis {layout.dim} cut from {name_layout(layout.parent)}"
    if name == "DotOperandLayout":
        return f"operand {'ab'[layout.operand_index]} of {name_layout(layout.parent)}"
    if name == "BlockedLayout":
        parts = layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta
        thread, lanes, warps = (" × ".join(map(str, part)) for part in parts)
        order = ", ".join(map(str, layout.order))
        return f"blocked: {thread} a thread, {lanes} lanes, {warps} warps, axes {order} first"
    if name == "DistributedLinearLayout":
        return "linear"
    words = {
        "NVMMADistributedLayout": "matrix units (MMA)",
        "AMDMFMALayout": "matrix units (MFMA)",
        "AMDWMMALayout": "matrix units (WMMA)",
    }
    return words.get(name, name.removesuffix("Layout"))
