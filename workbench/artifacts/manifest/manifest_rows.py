"""What the manifests of artifacts and of packages have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Versions:
    """The releases that made the artifact; `magic` is Python's bytecode magic number in hex."""

    python: str = ""
    magic: str = ""
    torch: str = ""
    triton: str | None = None
    workbench: str = ""


@dataclass(frozen=True)
class SystemNeeds:
    """What the built kernels need: newest symbol version per family, and library names."""

    system: str = ""
    machine: str = ""
    symbols: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Build:
    """One set of built kernels: the ISA as torch names it, the processor flags it needs.

    torch builds with `-march=native`, so the ISA's name alone does not say what may run it.
    """

    name: str
    isa: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Member:
    """Size and SHA-256 of one member of the file."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Signature:
    """One signature over the manifest without its signatures."""

    kind: str
    key: str
    value: str
