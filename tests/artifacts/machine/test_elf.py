"""ELF files: what is read from them, and that damaged ones are refused in bounded time."""

from __future__ import annotations

import random
import struct
import time
from pathlib import Path

import pytest

from tests.artifacts.package_sample import SHARED_LIBRARY
from workbench.artifacts.machine.elf import InMemory, find_undefined, read_elf, read_library

CONTENT = SHARED_LIBRARY.read_bytes()


def test_sections_symbols_and_needs_of_a_library() -> None:
    elf = read_elf(InMemory(CONTENT))
    assert elf.machine in ("x86_64", "aarch64")
    assert {".text", ".dynsym", ".dynstr"} <= {section.name for section in elf.sections}
    text = next(section for section in elf.sections if section.name == ".text")
    assert text.flags == "AX"
    assert text.size > 1000
    exported = {symbol.name for symbol in elf.symbols if symbol.exported}
    assert "PyInit__ctypes" in exported
    assert any(not symbol.exported and symbol.name.startswith("Py") for symbol in elf.symbols)
    assert any(name.startswith("libc.so") for name in elf.library.needed)
    assert elf.library == read_library(CONTENT)


@pytest.mark.parametrize(
    ("machine", "abi", "flags", "named"),
    [(190, 0x33, 0x5A055A, "sm_90"), (190, 0x41, 0x06006402, "sm_100"), (224, 0, 0, "AMDGPU")],
)
def test_code_of_a_gpu_names_its_architecture(
    machine: int, abi: int, flags: int, named: str
) -> None:
    header = bytearray(64)
    header[:8] = b"\x7fELF\x02\x01\x01" + bytes([abi])
    struct.pack_into("<H", header, 0x12, machine)
    struct.pack_into("<I", header, 0x30, flags)
    assert read_elf(InMemory(bytes(header))).machine == named


def test_damaged_files_are_refused_soon() -> None:
    start = time.monotonic()
    chance = random.Random(1)
    for _ in range(300):
        damaged = bytearray(CONTENT[: chance.choice((len(CONTENT), 64, 5000, 20_000))])
        for _ in range(chance.randrange(1, 40)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            read_elf(InMemory(bytes(damaged)))
        except ValueError:
            continue
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} escaped") from error
    assert time.monotonic() - start < 60


def test_versions_in_a_circle_end() -> None:
    """Every library of the table points at one chain of versions that goes round."""
    rows, size = 4096, 16
    table = b"".join(struct.pack("<HHIII", 1, 0xFFFF, 0, 0, size) for _ in range(rows))
    texts = b"\0name\0"
    sections = [
        (0, 0, 0, 0),
        (0x6FFFFFFE, 256, len(table), 2),
        (3, 256 + len(table), len(texts), 0),
    ]
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    at = 256 + len(table) + len(texts)
    struct.pack_into("<Q", header, 0x28, at)
    struct.pack_into("<HHH", header, 0x3A, 64, len(sections), 0)
    headers = b"".join(
        struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, length, link, rows, 0, 0)
        for kind, offset, length, link in sections
    )
    start = time.monotonic()
    content = bytes(header).ljust(256, b"\0") + table + texts + headers
    read_elf(InMemory(content))
    assert time.monotonic() - start < 5


def test_functions_that_libraries_lack_are_found() -> None:
    names = ("PyInit__ctypes", "no_such_function", "PyInit__ctype")
    missing = ("PyInit__ctype", "no_such_function")
    assert find_undefined(["x"], [Path("/nowhere"), SHARED_LIBRARY]) == ("x",)
    if ".gnu.hash" in {section.name for section in read_elf(InMemory(CONTENT)).sections}:
        assert find_undefined(names, [SHARED_LIBRARY]) == missing
