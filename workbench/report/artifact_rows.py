"""The row types of what a file is: facts, members, inputs and outputs, what it needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArtifactFact:
    """One thing about the file: its path, size, digest, who vouches for it, what it was made by."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ArtifactMember:
    """One member of the file, or several of a kind; `size` is in bytes."""

    name: str
    what: str
    size: int
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class ContractLeaf:
    """One tensor or constant that the file takes or gives: `side` is "input" or "output".

    `shape` is written with its ranges, such as `[batch in 2..64, 512]`. `model` names one of
    several models in a package.
    """

    side: str
    name: str
    dtype: str
    shape: str
    device: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class RequirementRow:
    """One thing that the file needs, compared with this machine: pass, warn or fail."""

    name: str
    verdict: str
    needed: str
    found: str
    advice: str = ""
