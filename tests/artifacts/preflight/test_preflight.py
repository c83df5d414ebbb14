"""What an artifact needs, compared with a machine."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.artifacts.machine.elf import read_library
from workbench.artifacts.machine.machine_description import Machine, describe_current_machine
from workbench.artifacts.manifest.manifest import Build, Manifest, SystemNeeds, Versions
from workbench.artifacts.preflight.preflight import (
    check_requirements,
    choose_build,
    read_system_needs,
)

MACHINE = Machine(
    python="3.11",
    magic="a70d0d0a",
    torch="2.13.0+cpu",
    system="Linux",
    machine="x86_64",
    cpu_flags=frozenset(("avx", "avx2", "fma")),
    symbols={"GLIBC": "2.36", "GLIBCXX": "3.4.9"},
)
MANIFEST = Manifest(
    versions=Versions("3.11", "a70d0d0a", "2.13.0+cpu"),
    needs=SystemNeeds("Linux", "x86_64", {"GLIBC": "2.14", "GLIBCXX": "3.4.21", "GOMP": "4.0"}),
    builds=(Build("avx2", "avx2", ("avx2",)), Build("avx512", "avx512", ("avx2", "avx512f"))),
)


def verdicts(manifest: Manifest, machine: Machine) -> dict[str, str]:
    return {row.name: row.verdict for row in check_requirements(manifest, machine)}


def test_each_requirement_has_a_verdict() -> None:
    found = verdicts(MANIFEST, MACHINE)
    assert found.pop("GLIBCXX") == "fail"  # 3.4.9 is older than 3.4.21
    assert found.pop("GOMP") == "warn"  # not found: perhaps it is elsewhere
    assert set(found.values()) == {"pass"}


def test_what_a_description_leaves_out_is_not_said_to_be_missing() -> None:
    """As seen of `{"torch": "1.0"}`: "GLIBC not found: install the library that provides it"."""
    rows = check_requirements(MANIFEST, Machine.of({"torch": "1.0"}))
    left_out = {row.name: row.found for row in rows if row.name.startswith("G")}
    assert left_out == dict.fromkeys(("GLIBC", "GLIBCXX", "GOMP"), "not described")


@pytest.mark.parametrize(
    ("flags", "chosen"),
    [
        ({"avx2", "avx512f"}, "avx512"),
        ({"avx2"}, "avx2"),
        ({"sse4_1"}, None),
    ],
)
def test_the_widest_build_that_runs_is_chosen(flags: set[str], chosen: str | None) -> None:
    build = choose_build(MANIFEST.builds, frozenset(flags))
    assert (build.name if build else None) == chosen


def test_an_artifact_without_kernels_needs_no_instructions() -> None:
    assert verdicts(replace(MANIFEST, builds=()), MACHINE)["instructions"] == "pass"


def test_a_gpu_artifact_needs_the_very_build_of_torch_and_a_gpu() -> None:
    cuda = replace(MANIFEST, device="cuda", versions=Versions("3.11", "a70d0d0a", "2.13.0+cu130"))
    found = verdicts(cuda, MACHINE)
    assert found["torch"] == found["device"] == "fail"


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF files")
def test_this_machine_is_read_from_its_libraries() -> None:
    machine = describe_current_machine()
    assert machine.torch
    assert machine.symbols["GLIBC"].startswith("2.")
    assert machine.symbols["GLIBCXX"].startswith("3.4.")


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF files")
def test_needs_are_the_newest_symbols() -> None:
    libraries = (line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines())
    library = next(path for path in libraries if "libstdc++" in path or "libm.so" in path)
    content = Path(library).read_bytes()
    assert "libc.so.6" in read_library(content).needed
    needs = read_system_needs([content])
    assert needs.symbols["GLIBC"].startswith("2.")
    assert needs.system == "Linux"


@pytest.mark.parametrize("content", [b"", b"MZ", b"\x7fELF\x02\x01" + b"\xff" * 90])
def test_a_file_that_is_no_library_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="ELF"):
        read_library(content)
