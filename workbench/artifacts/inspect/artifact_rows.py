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

    name: str  # its name
    kind: str  # what kind it is of
    size: int  # bytes
    state: str
    sha256: str  # the hash of its bytes

    @property
    def damaged(self) -> bool:
        """Whether the bytes are not those that the file was made with."""
        return self.state == DAMAGED


@dataclass(frozen=True)
class ModelFacts:
    """One model of a file; `weights` says where they are, their `bytes` counted once."""

    name: str  # its name
    device: str  # the device that it is on
    library: str  # the member that is its library
    weights: str  # where its weights are
    constants: int  # how many weights, buffers and constants it has
    bytes: int  # its size
    needs_proxy: bool = False  # whether operators need the proxy executor of torch
    bucket: str = ""  # the sizes that it serves, in a package of several
    target: str = ""  # the GPU that it was compiled for


@dataclass(frozen=True)
class VariantFacts:
    """One of several variants of a package's model; `torch` is the release that it is for.

    `inputs` are dtype and shape of each tensor, `weights` says where they are, `bytes` their size.
    """

    name: str  # its name
    device: str  # the device that it is on
    made_for: str  # the instructions of a processor, or a GPU and its architecture
    torch: str  # the release and build of torch that it is for
    inputs: str
    weights: str
    bytes: int


@dataclass(frozen=True)
class ValueFacts:
    """One input or output of a model; `shape` as text, such as `[batch in 2..64, 512]`."""

    model: str  # the model that it belongs to
    direction: str  # "input" or "output"
    name: str  # its name
    kind: str  # what kind it is of
    dtype: str  # its dtype
    shape: str  # its sizes
    device: str  # the device that it is on
    stride: str = ""  # its strides


@dataclass(frozen=True)
class ConstantFacts:
    """One weight, buffer or constant: `size` in bytes, `place` where its bytes are."""

    model: str  # the model that it belongs to
    name: str  # its name
    kind: str  # weight, buffer or constant
    dtype: str  # its dtype
    shape: str  # its sizes
    size: int | None  # bytes
    place: str  # where its bytes are: in the library, in a member, outside of the file


@dataclass(frozen=True)
class GuardFacts:
    """One assumption, checked by the file when it is called (`kept`) or left out with a reason.

    `frozen` is the value that the file goes on with where it compares nothing instead.
    """

    model: str  # the model that it belongs to
    kind: str  # what kind it is of
    name: str  # its name
    kept: bool  # whether the file checks it
    why: str = ""  # why it was left out
    frozen: str = ""


@dataclass(frozen=True)
class NeedFacts:
    """One thing that a machine has to have; `wb.check(path)` compares them with one."""

    name: str  # its name
    needed: str  # what is needed
    why: str = ""  # what needs it


@dataclass(frozen=True)
class OutsideFacts:
    """An object that is not in the file: `kind` says who hands it over."""

    kind: str  # what kind it is of
    name: str  # its name
    found_at: str = ""  # where it was found when the file was made


@dataclass(frozen=True)
class SourceFacts:
    """One text of generated or packed code, read with `ArtifactReport.source(name)`."""

    name: str  # its name
    language: str  # the language that it is in
    size: int  # bytes
    lines: int  # how many lines it has


@dataclass(frozen=True)
class KernelFacts:
    """One kernel of a GPU in one configuration: the hash of its machine code, registers used."""

    model: str  # the model that it belongs to
    name: str  # its name
    registers: int | None  # registers of a thread
    sha256: str  # the hash of its bytes


@dataclass(frozen=True)
class ImportFacts:
    """One name that reading a pickle would import; `level` is one of `LEVELS`."""

    pickle: str  # the pickle that names it
    name: str  # its name
    level: str  # how dangerous it is: runs commands, unknown, usual


LEVELS = ("runs commands", "unknown", "usual")
"""Worst first: runs what the file says; from outside torch's usual companions; torch's own."""


@dataclass(frozen=True)
class PickleSummary:
    """One pickle, `nested` ones named by their place: calls it would make, what was odd."""

    name: str  # its name
    size: int  # bytes
    names: int  # how many names it would import
    calls: int  # calls that reading it would make
    persistent: int  # how many of its objects lie outside of it
    problem: str = ""  # what was odd when it was read
