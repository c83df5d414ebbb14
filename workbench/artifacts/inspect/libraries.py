"""The ELF files of a file: sections, symbols, what they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.artifacts.archive.members import Members
from workbench.artifacts.inspect.artifact_rows import LibraryFacts, SectionFacts, SymbolFacts
from workbench.artifacts.inspect.file_facts import Facts
from workbench.artifacts.machine.elf import Elf, read_elf

_MOST_LIBRARIES = 500
_CONTAINER = "AOTInductorModelContainer"  # what its functions in C begin with


@dataclass(frozen=True)
class Libraries:
    """The rows of all libraries of one file."""

    libraries: tuple[LibraryFacts, ...] = ()
    sections: tuple[SectionFacts, ...] = ()
    symbols: tuple[SymbolFacts, ...] = ()


def read_libraries(members: Members | None) -> Libraries:
    """Read the headers and tables of every ELF file among the members, not their content."""
    if members is None:
        return Libraries()
    found = list(_elf_files(members))
    read = [elf for _, elf in found if isinstance(elf, Elf)]
    return Libraries(
        tuple(_library(name, members.size(name), elf) for name, elf in found),
        tuple(section for elf in read for section in elf.sections),
        tuple(symbol for elf in read for symbol in elf.symbols),
    )


def _elf_files(members: Members) -> Iterator[tuple[str, Elf | str]]:
    count = 0
    for name in members.entries:
        part = members.part(name)
        if part.read_at(0, 4) != b"\x7fELF" or count >= _MOST_LIBRARIES:
            continue
        count += 1
        try:
            yield name, read_elf(part, name)
        except ValueError as error:
            yield name, str(error)


def _library(name: str, size: int, elf: Elf | str) -> LibraryFacts:
    if isinstance(elf, str):
        return LibraryFacts(name, "", size, (), (), (), 0, 0, elf)
    exported = sum(symbol.exported for symbol in elf.symbols)
    more = elf.symbol_count > len(elf.symbols) + 1 and len(elf.symbols) >= 50_000
    return LibraryFacts(
        member=name,
        machine=elf.machine,
        size=size,
        needed=elf.library.needed,
        versions=elf.library.versions,
        search=elf.search,
        exports=exported,
        imports=len(elf.symbols) - exported,
        problem=f"only the first of {elf.symbol_count} symbols are listed" if more else "",
    )


def read_library_facts(found: Libraries) -> Facts:
    """What a bare library says of the model in it: whether it is one, and what it leaves open."""
    exported = {symbol.name for symbol in found.symbols if symbol.exported}
    is_model = any(name.startswith(_CONTAINER) for name in exported)
    made_by = "made by AOTInductor" if is_model else "no model of AOTInductor: it exports none"
    return Facts(
        notes=(
            made_by,
            "a bare library names neither its inputs and outputs nor the release of torch that "
            "made it: it can be looked at, not called. wb.package makes a file that can",
        )
    )
