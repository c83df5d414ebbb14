"""Reads the texts that Triton and its tools produce: clean lines, each with where it comes from.

A line's origin is a chain of places, the innermost first: a helper, then the call that it was
inlined into, up to the kernel's own line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; `file` is a bare name where the text gives no more."""

    file: str
    line: int

    @property
    def base(self) -> str:
        """The file without its folder."""
        return PurePosixPath(self.file).name


Chain = tuple[Place, ...]
_MOST_DEEP = 64  # calls that are inlined into each other; a text that was made up may say more


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines of text and the chain of each; `ptx` is the PTX line of each, for SASS."""

    lines: Sequence[str]
    chains: Sequence[Chain]
    ptx: Sequence[int] = ()


_MLIR_NAME = re.compile(r"#loc(\d*) = loc\((.*)\)$")
_MLIR_PART = r'(?:#loc\d*|unknown|callsite\(#loc\d* at #loc\d*\)|"[^"]*"(?:\(#loc\d*\)|:\d+:\d+))'
_MLIR_LOC = re.compile(rf" loc\(({_MLIR_PART})\)")
_MLIR_FILE = re.compile(r'"([^"]*)":(\d+):\d+$')
_MLIR_NAMED = re.compile(r'"[^"]*"\((#loc\d*)\)$')
_MLIR_CALL = re.compile(r"callsite\((#loc\d*) at (#loc\d*)\)$")


def mlir(text: str) -> Listing:
    """TTIR or TTGIR without its `loc` attributes."""
    named: dict[str, str] = {}
    body: list[str] = []
    for line in text.splitlines():
        match = _MLIR_NAME.match(line)
        if match:
            named[f"#loc{match[1]}"] = match[2]
        else:
            body.append(line)

    places = [_MLIR_LOC.findall(line) for line in body]
    chain = cache(partial(_mlir_chain, named))
    chains = [chain(parts[-1]) if parts else () for parts in places]
    return Listing([_MLIR_LOC.sub("", line) for line in body], chains)


def _mlir_chain(named: Mapping[str, str], part: str) -> Chain:
    """The places behind one `loc`; names that lead in a circle end after as many as are kept."""
    places: list[Place] = []
    waiting = [part]
    for _ in range(8 * _MOST_DEEP):
        if not waiting or len(places) == _MOST_DEEP:
            break
        part = waiting.pop()
        if part in named:
            waiting.append(named[part])
        elif match := _MLIR_FILE.match(part):
            places.append(Place(match[1], _line_number(match[2])))
        elif match := _MLIR_NAMED.match(part):
            waiting.append(match[1])
        elif match := _MLIR_CALL.match(part):
            waiting += (match[2], match[1])
    return tuple(places)


def _line_number(digits: str) -> int:
    """A line's number; 0, which is none, for digits that no file has so many lines for."""
    return int(digits) if len(digits) < 10 and digits.isdecimal() else 0


_LLVM_DBG = re.compile(r",? !dbg !(\d+)")
_LLVM_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$")
_LLVM_FIELD = re.compile(r'\b(\w+): (?:!(\d+)|"([^"]*)"|(\d+))')


def llvm(text: str) -> Listing:
    """LLVM IR without its debug information."""
    nodes: dict[str, dict[str, str]] = {}
    body: list[str] = []
    for line in text.splitlines():
        match = _LLVM_NODE.match(line)
        if match:
            fields = _LLVM_FIELD.findall(match[3])
            nodes[match[1]] = {name: ref or word or number for name, ref, word, number in fields}
        elif not line.startswith("!"):
            body.append(line)
    chain = cache(partial(_llvm_chain, nodes))
    places = [_LLVM_DBG.findall(line) for line in body]
    chains = [chain(references[-1]) if references else () for references in places]
    return Listing([_LLVM_DBG.sub("", line) for line in body], chains)


def _llvm_chain(nodes: Mapping[str, Mapping[str, str]], reference: str) -> Chain:
    places: list[Place] = []
    for _ in range(_MOST_DEEP):
        if reference not in nodes:
            break
        node = nodes[reference]
        scope = nodes.get(node.get("scope", ""), {})
        for _ in range(_MOST_DEEP):
            if not scope or "file" in scope:
                break
            scope = nodes.get(scope.get("scope", ""), {})
        file = nodes.get(scope.get("file", node.get("file", "")), {})
        if "filename" in file:
            folder = file.get("directory", "")
            name = f"{folder}/{file['filename']}" if folder else file["filename"]
            places.append(Place(name, _line_number(node.get("line", "0"))))
        reference = node.get("inlinedAt", "")
    return tuple(places)


_ASM_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_ASM_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_ASM_CALL = re.compile(r"\binlined_at\s+(\d+)\s+(\d+)\s+(\d+)")
_ASM_INLINE = re.compile(r"\s*// (begin|end) inline asm")
_ASM_DEBUG = re.compile(r'\s*\.section\s+"?\.debug')
_ASM_PLACE = re.compile(r"(?<![^\s@\[\];/])([^\s@\[\];/]+):(\d+):\d+")


def assembler(text: str) -> Listing:
    """PTX or AMDGCN up to its debug sections, which only tools read."""
    files: dict[str, str] = {}
    lines = text.splitlines()
    for line in lines:
        if match := _ASM_FILE.match(line):
            files[match[1]] = f"{match[2]}/{match[3]}" if match[3] else match[2]
    end = next((n for n, line in enumerate(lines) if _ASM_DEBUG.match(line)), len(lines))
    while end and _ASM_FILE.match(lines[end - 1]):
        end -= 1
    chains: list[Chain] = []
    current: Chain = ()
    by_place: dict[tuple[str, str, str], Chain] = {}
    is_inline = False
    for line in lines[:end]:
        if _ASM_INLINE.match(line):
            is_inline = "begin" in line
        # inside of inline assembly LLVM counts its lines on from that of the call
        elif (match := _ASM_LOC.match(line)) and not (is_inline and current):
            own = Place(files.get(match[1], ""), _line_number(match[2]))
            current = (own, *_calls(line, files, by_place)) if own.line else ()
            by_place[match[1], match[2], match[3]] = current
        chains.append(current)
    return Listing(lines[:end], chains)


def _calls(
    line: str, files: Mapping[str, str], by_place: Mapping[tuple[str, str, str], Chain]
) -> Chain:
    """The calls around a helper: newer LLVM names the place of the next, older all in a comment."""
    if match := _ASM_CALL.search(line):
        file, number, column = match.groups()
        outer = by_place.get((file, number, column), ())[: _MOST_DEEP - 1]
        return outer or (Place(files.get(file, ""), _line_number(number)),)
    calls = _ASM_PLACE.findall(line)[1:_MOST_DEEP]
    return tuple(Place(file, _line_number(number)) for file, number in calls)


_SASS_PLACE = re.compile(r'\s*//## File "\.nv_debug_ptx_txt[^"]*", line (\d+)')
SASS_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d\s+)?([A-Z][A-Z0-9_.]*)")


def sass(text: str, ptx: Listing) -> Listing:
    """The code in what nvdisasm printed with the lines of the PTX."""
    lines: list[str] = []
    numbers: list[int] = []
    current = 0
    for line in text.splitlines():
        if match := _SASS_PLACE.match(line):
            current = _line_number(match[1])
        elif SASS_INSTRUCTION.match(line):
            lines.append(line)
            numbers.append(current)
        elif line.startswith(".L_"):
            lines.append(line)
            numbers.append(0)
    chains = [ptx.chains[n - 1] if 0 < n <= len(ptx.chains) else () for n in numbers]
    return Listing(lines, chains, numbers)
