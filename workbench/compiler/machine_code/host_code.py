"""The machine code of C++ kernels, read from their libraries: each instruction with its lines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from workbench.compiler.machine_code.code_readers import find_helper_runs, find_source_runs
from workbench.compiler.machine_code.listings import Chain, Listing, Place
from workbench.compiler.sources.sources import Places
from workbench.report import Table, Texts, TextWriter
from workbench.report.machine_rows import HOST_STAGE, Assembly

_LIMIT_S = 60
_FILE = re.compile(r"^(.+):     file format ", re.MULTILINE)
_FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t")
_PLACE = re.compile(r"^(inlined by )?(/.+):(\d+)(?: \(.*\))?$")
_TARGET = re.compile(r"\b([0-9a-f]+) <")
_ENTRY = re.compile(r"kernel(?![\w(@$])|\.?omp_outlined")
_STUB = re.compile(r"@plt|\$plt$")  # as binutils and mold name what leads into other libraries


class HostCode:
    """The table `assembly` of libraries by kernel, with its texts: made on first use."""

    def __init__(self, files: Mapping[str, str], places: Places):
        self._files = files
        self._places = places

    def table(self) -> Table[Assembly]:
        """A row for each kernel that was built."""
        return self._made[0]

    def texts(self) -> Texts:
        """The texts of the table."""
        return self._made[1]

    @cached_property
    def _made(self) -> tuple[Table[Assembly], Texts]:
        writer = TextWriter()
        return Table.of(Assembly, self._rows(writer)), writer.finish()

    def _rows(self, writer: TextWriter) -> Iterator[Assembly]:
        there = [file for file in dict.fromkeys(self._files.values()) if os.path.exists(file)]
        listings, missing = disassembled(there) if there else ({}, None)
        for kernel, file in self._files.items():
            config, listing = f"{kernel}:host", listings.get(file)
            if listing is None:
                why = missing if file in there else "its library is no longer in the cache"
                yield Assembly(kernel, config, HOST_STAGE, None, note=why)
                continue
            source = Path(file).with_suffix(".cpp")
            text = writer.add(self._places.shared("\n".join(listing.lines)))
            inlined = tuple(
                (first, last, self._places.shown(helper), line)
                for first, last, helper, line in find_helper_runs(listing, source.name)
            )
            lines = find_source_runs(listing, source.name, _blank_lines(source))
            yield Assembly(kernel, config, HOST_STAGE, text, lines=lines, inlined=inlined)


def _blank_lines(source: Path) -> int:
    """How many lines of the file stand before the kernel's text."""
    text = source.read_text() if source.exists() else "\n"
    return len(text) - len(text.lstrip("\n"))


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
        return {}, "objdump was not found; it is part of binutils, which comes with a C++ compiler"
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
    texts = zip(pieces[::2], pieces[1::2], strict=True)
    listings = ((file, _listing(_functions(text.splitlines()))) for file, text in texts)
    return {file: listing for file, listing in listings if listing.lines}


def _functions(lines: Iterable[str]) -> dict[str, _Function]:
    """The functions of a library by their address."""
    by_address: dict[str, _Function] = {}
    function, chain, is_fresh = _Function(""), (), True  # type: _Function, Chain, bool
    for line in lines:
        if match := _FUNCTION.match(line):
            function = by_address[match[1].lstrip("0")] = _Function(match[2])
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
    return by_address


def _listing(functions: Mapping[str, _Function]) -> Listing:
    """The kernel's functions and those that they lead to; not those that Python calls it by."""
    reached = {at for at, function in functions.items() if _ENTRY.match(function.name)}
    todo = [*reached]
    while todo:
        called = set(_called(functions[todo.pop()])) & functions.keys() - reached
        called = {at for at in called if not _STUB.search(functions[at].name)}
        reached |= called
        todo += called
    lines: list[str] = []
    chains: list[Chain] = []
    chosen = (function for at, function in functions.items() if at in reached)
    for function in sorted(chosen, key=lambda function: ".cold" in function.name):
        lines += [f"{function.name}:", *function.lines]
        chains += [(), *function.chains]
    return Listing(lines, chains)


def _called(function: _Function) -> Iterator[str]:
    return (match[1] for line in function.lines for match in _TARGET.finditer(line))
