"""What the small hand-made report says of a file and of its round trip."""

from __future__ import annotations

from typing import Any

from workbench.report.file_rows import (
    ArtifactFact,
    ArtifactMember,
    ContractLeaf,
    RoundTripLeaf,
    RoundTripPhase,
    RoundTripWay,
    way_of,
)
from workbench.report.requirement_rows import Requirement

KERNEL = "kernels/avx512-native/" + "5d05763b7c09" + "0" * 52 + ".so"
TOOK: dict[str, tuple[tuple[str, float], ...]] = {
    "eager": (
        ("start", 0.045),
        ("torch", 0.85),
        ("inputs", 0.004),
        ("model", 0.002),
        ("first_call", 0.021),
    ),
    "compile_cold": (
        ("start", 0.045),
        ("torch", 0.86),
        ("imports", 1.71),
        ("inputs", 0.004),
        ("model", 0.002),
        ("compile", 0.09),
        ("first_call", 13.4),
    ),
    "ours": (
        ("start", 0.045),
        ("torch", 0.85),
        ("imports", 0.31),
        ("inputs", 0.004),
        ("read", 0.011),
        ("unpack", 0.002),
        ("rebuild", 0.038),
        ("dlopen", 0.0008),
        ("guards", 0.012),
        ("first_call", 0.0012),
    ),
}
CALLS = {  # seconds of 200 later calls: the usual one, the slowest three
    "eager": (192e-6, 260e-6),
    "compile_cold": (121e-6, 170e-6),
    "ours": (118e-6, 151e-6),
}
PEAK = {"eager": 248_000_000, "compile_cold": 611_000_000, "ours": 262_000_000}


def rows() -> dict[str, list[Any]]:
    """The tables by name."""
    phases = {way: tuple(_phases(way)) for way in TOOK}
    leaves = {way: _leaves(way) for way in TOOK}
    ways = []
    for way, (usual, slow) in CALLS.items():
        calls = [usual] * 197 + [slow] * 3
        ways.append(way_of(way, phases[way], leaves[way], calls, PEAK[way]))
    why = "torch cannot save it: PackageError: ID_MATCH guard cannot be serialized."
    ways.insert(2, RoundTripWay("torch", ran=False, note=why))
    return {
        "artifact": [
            ArtifactFact("Path", "~/models/block.aot"),
            ArtifactFact("Size", "132904 bytes"),
            ArtifactFact("Digest", "sha256:" + "3f" * 32),
            ArtifactFact("Vouched for", "signed by you"),
        ],
        "members": [
            ArtifactMember("payload", "guards, bytecode, program", 81_204, "ab" * 32),
            ArtifactMember(KERNEL, "library", 51_700, "cd" * 32),
        ],
        "contract": [
            ContractLeaf("input", "x", "float32", "[rows in 2..512, 1024]", "cpu"),
            ContractLeaf("input", "w", "float32", "[1024, 1024]", "cpu"),
        ],
        "requirements": [
            Requirement("torch", "pass", "2.13.0", "2.13.0"),
            Requirement("GLIBC", "warn", "2.14", "not found", "install the library"),
            Requirement("instructions", "fail", "avx512", "avx2", "another processor"),
        ],
        "roundtrip": ways,
        "roundtrip_phases": [phase for way in TOOK for phase in phases[way]],
        "roundtrip_leaves": [leaf for way in TOOK for leaf in leaves[way]],
    }


def _phases(way: str) -> list[RoundTripPhase]:
    found, at = [], 0.0
    for name, seconds in TOOK[way]:
        found.append(RoundTripPhase(way, name, at, seconds))
        at += seconds
    return found


def _leaves(way: str) -> tuple[RoundTripLeaf, ...]:
    error = 0.0 if way == "eager" else 1.5e-7
    leaf = RoundTripLeaf(
        way, "output", "float32", (512, 1024), not error, error, error, 1.3e-6, 1e-5, True
    )
    return (leaf,)
