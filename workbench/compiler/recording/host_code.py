"""The machine code of C++ kernels, read from their libraries when somebody looks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.machine_code.assembly_rows import find_helper_runs, find_source_runs
from workbench.compiler.machine_code.disassembly import disassembled
from workbench.compiler.sources.sources import Places
from workbench.report import Kernel, Table, Texts, TextWriter
from workbench.report.machine_rows import HOST_STAGE, Assembly


def libraries(kernels: Iterable[Kernel], programs: Mapping[str, str]) -> dict[str, str]:
    """The library of each C++ kernel by the kernel's id.

    `programs` are the files of the generated programs by graph; one written in C++ holds its
    kernels itself and has none.
    """
    modules = {module.__file__: vars(module) for module in tp.PY_CODE_CACHE.get().modules}
    found = {}
    for kernel in kernels:
        space = modules.get(programs.get(kernel.graph), {})
        file = getattr(getattr(space.get(kernel.name), "__self__", None), "__file__", None)
        if kernel.language == "cpp" and file is not None:
            found[kernel.id] = str(file)
    return found


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
