"""Reads the machine code of built C++ libraries, each instruction with its lines of C++."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.compiler.machine_code.listings import Chain, Listing, Place

_LIMIT_S = 60
_FILE = re.compile(r"^(.+):     file format ", re.MULTILINE)
_FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t")
_PLACE = re.compile(r"^(inlined by )?(/.+):(\d+)(?: \(.*\))?$")
_TARGET = re.compile(r"\b([0-9a-f]+) <")
_ENTRY = re.compile(r"kernel(?![\w(@$])|\.?omp_outlined")
_STUB = re.compile(r"@plt|\$plt$")  # as binutils and mold name what leads into other libraries


@dataclass
class _Function:
    name: str
    lines: list[str] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)


def disassembled(files: Sequence[str]) -> tuple[Mapping[str, Listing], str | None]:
    """The code of each library's kernel and of what it calls in there, and why some is missing.

    Functions come in the order of the library, each under its name; what the compiler set apart as
    seldom run (`.cold`) comes last.
    """
    tool = shutil.which("objdump")
    if tool is None:
        return {}, "objdump was not found: it is part of binutils, which comes with a C++ compiler"
    command = [tool, "--disassemble", "--line-numbers", "--inlines", "--no-show-raw-insn"]
    try:
        done = subprocess.run(
            [*command, "--demangle", *files], capture_output=True, text=True, timeout=_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {}, f"objdump failed: {error}"
    words = done.stderr.strip().splitlines()
    return read_printed_listings(done.stdout), words[-1] if words else "its library is empty"


def read_printed_listings(printed: str) -> dict[str, Listing]:
    """What objdump printed of several libraries, by the library's file."""
    pieces = _FILE.split(printed)[1:]
    found = zip(pieces[::2], pieces[1::2], strict=True)
    listings = ((file, _listing(_functions(text.splitlines()))) for file, text in found)
    return {file: listing for file, listing in listings if listing.lines}


def _functions(lines: Iterable[str]) -> dict[str, _Function]:
    """The functions of a library by their address."""
    found: dict[str, _Function] = {}
    function, chain, is_fresh = _Function(""), (), True  # type: _Function, Chain, bool
    for line in lines:
        if match := _FUNCTION.match(line):
            function = found[match[1].lstrip("0")] = _Function(match[2])
            chain = ()
        elif match := _PLACE.match(line):
            place = Place(match[2], int(match[3]))
            # calls that the same helper is inlined into are told without the helper again
            callee = chain if is_fresh else chain[:1]
            chain = (*callee, place) if match[1] else (place,)
            is_fresh = True
        elif _INSTRUCTION.match(line):
            function.lines.append(line.strip())
            function.chains.append(chain)
            is_fresh = False
    return found


def _listing(functions: Mapping[str, _Function]) -> Listing:
    """The kernel's functions and those that they lead to; not those that Python calls it by."""
    wanted = {at for at, function in functions.items() if _ENTRY.match(function.name)}
    todo = [*wanted]
    while todo:
        called = set(_called(functions[todo.pop()])) & functions.keys() - wanted
        called = {at for at in called if not _STUB.search(functions[at].name)}
        wanted |= called
        todo += called
    lines: list[str] = []
    chains: list[Chain] = []
    kept = (function for at, function in functions.items() if at in wanted)
    for function in sorted(kept, key=lambda function: ".cold" in function.name):
        lines += [f"{function.name}:", *function.lines]
        chains += [(), *function.chains]
    return Listing(lines, chains)


def _called(function: _Function) -> Iterator[str]:
    return (match[1] for line in function.lines for match in _TARGET.finditer(line))
