"""What a library from before torch 2.13 puts into a C++ map is read, and the map is freed."""

from __future__ import annotations

import ctypes
import subprocess
from ctypes import c_int, c_void_p
from typing import Any

import pytest

from workbench.compiler.running.container import filled

# operator new and delete are counted, so that what is left in memory is known
SOURCE = """
#include <cstdlib>
#include <new>
#include <string>
#include <unordered_map>

static int alive = 0;
void *operator new(std::size_t size) { ++alive; return std::malloc(size); }
void operator delete(void *place) noexcept { if (place) --alive; std::free(place); }
void operator delete(void *place, std::size_t) noexcept { operator delete(place); }

extern "C" int in_memory() { return alive; }
extern "C" void fill(void *place, int count) {
    std::unordered_map<std::string, void *> made;
    for (int i = 0; i < count; ++i)
        made.emplace((i % 2 ? "w" : "encoder.layers.weight_") + std::to_string(i), (void *)(long)i);
    *static_cast<std::unordered_map<std::string, void *> *>(place) = std::move(made);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A library that fills a map as torch's does."""
    folder = tmp_path_factory.mktemp("map")
    (folder / "a.cpp").write_text(SOURCE)
    alone = ["-static-libstdc++", "-Wl,-Bsymbolic"]  # strings are made by its operators too
    command = ["g++", "-shared", "-fPIC", *alone, "a.cpp", "-o", "a.so"]
    subprocess.run(command, cwd=folder, check=True)
    made = ctypes.CDLL(str(folder / "a.so"))
    made.fill.argtypes, made.fill.restype = (c_void_p, c_int), None
    return made


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_every_entry_is_read_and_the_map_is_freed(library: Any, count: int) -> None:
    before = library.in_memory()
    found = filled(lambda place: library.fill(place, count), library["_ZdlPv"])
    names = [("w" if i % 2 else "encoder.layers.weight_") + str(i) for i in range(count)]
    assert dict(found) == {name: i for i, name in enumerate(names)}
    assert len(found) == count
    assert library.in_memory() == before


def test_a_map_that_cannot_be_filled_is_left_alone() -> None:
    def refuse(place: object) -> None:
        raise ValueError("no such container")

    with pytest.raises(ValueError, match="no such container"):
        filled(refuse)
