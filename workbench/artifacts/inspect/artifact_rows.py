"""The rows of what is known about a file; each class is one table of an `ArtifactReport`."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.artifacts.machine.elf import LibraryFacts as LibraryFacts
from workbench.artifacts.machine.elf import SectionFacts as SectionFacts
from workbench.artifacts.machine.elf import SymbolFacts as SymbolFacts

WHOLE, DAMAGED, NOT_HASHED = "whole", "damaged", "not hashed"


@dataclass(frozen=True)
class MemberFacts:
    """One member of the file: `size` in bytes, `sha256` as the manifest gives it.

    `state` is "whole" (compared with its hash, or its checksum where there is no hash),
    "damaged", or "not hashed" (bulk data: `wb.inspect(path, verify=True)` reads all).
    """

    name: str
    kind: str
    size: int
    state: str
    sha256: str

    @property
    def damaged(self) -> bool:
        """Whether the bytes are not those that the file was made with."""
        return self.state == DAMAGED


@dataclass(frozen=True)
class ModelFacts:
    """One model of a file; `weights` says where they are, their `bytes` counted once."""

    name: str
    device: str
    library: str
    weights: str
    constants: int
    bytes: int
    needs_proxy: bool = False
    bucket: str = ""
    target: str = ""


@dataclass(frozen=True)
class VariantFacts:
    """One of several variants of a package's model; `torch` is the release that it is for.

    `inputs` are dtype and shape of each tensor, `weights` says where they are, `bytes` their size.
    """

    name: str
    device: str
    made_for: str
    torch: str
    inputs: str
    weights: str
    bytes: int


@dataclass(frozen=True)
class ValueFacts:
    """One input or output of a model; `shape` as text, such as `[batch in 2..64, 512]`."""

    model: str
    direction: str
    name: str
    kind: str
    dtype: str
    shape: str
    device: str
    stride: str = ""


@dataclass(frozen=True)
class ConstantFacts:
    """One weight, buffer or constant: `size` in bytes, `place` where its bytes are."""

    model: str
    name: str
    kind: str
    dtype: str
    shape: str
    size: int | None
    place: str


@dataclass(frozen=True)
class GuardFacts:
    """One assumption, checked by the file when it is called (`kept`) or left out with a reason.

    `frozen` is the value that the file goes on with where it compares nothing instead.
    """

    model: str
    kind: str
    name: str
    kept: bool
    why: str = ""
    frozen: str = ""


@dataclass(frozen=True)
class NeedFacts:
    """One thing that a machine has to have; `wb.check(path)` compares them with one."""

    name: str
    needed: str
    why: str = ""


@dataclass(frozen=True)
class OutsideFacts:
    """An object that is not in the file: `kind` says who hands it over."""

    kind: str
    name: str
    found_at: str = ""


@dataclass(frozen=True)
class SourceFacts:
    """One text of generated or packed code, read with `ArtifactReport.source(name)`."""

    name: str
    language: str
    size: int
    lines: int


@dataclass(frozen=True)
class KernelFacts:
    """One kernel of a GPU in one configuration: the hash of its machine code, registers used."""

    model: str
    name: str
    registers: int | None
    sha256: str


@dataclass(frozen=True)
class ImportFacts:
    """One name that reading a pickle would import; `level` is one of `LEVELS`."""

    pickle: str
    name: str
    level: str


LEVELS = ("runs commands", "unknown", "usual")
"""Worst first: runs what the file says; from outside torch's usual companions; torch's own."""


@dataclass(frozen=True)
class PickleSummary:
    """One pickle, `nested` ones named by their place: calls it would make, what was odd."""

    name: str
    size: int
    names: int
    calls: int
    persistent: int
    problem: str = ""
