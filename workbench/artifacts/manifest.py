"""The manifest: what an artifact is, what it needs, what it checks, what it consists of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from workbench.errors import ArtifactError

SCHEMA = 1
KIND = "aot-workbench artifact"

Record = TypeVar("Record")


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
class GpuKernel:
    """One kernel in one configuration: the hash of its machine code, registers of a thread."""

    name: str
    sha256: str
    registers: int | None = None


@dataclass(frozen=True)
class BuiltFor:
    """The GPU and the releases that code was compiled for on a machine without them.

    `gpu` is the name of the target, `arch` that of its machine code, such as "sm_90a". `torch`
    without a build (+cu130) stands for every build, `toolkit` None for every release. `torch_key`
    is torch's name (in hex) for the sources by which it finds the packed kernels.
    """

    gpu: str
    device_name: str
    arch: str
    torch: str = ""
    triton: str | None = None
    toolkit: str | None = None
    torch_key: str = ""
    kernels: tuple[GpuKernel, ...] = ()

    @property
    def title(self) -> str:
        """The GPU as people write it."""
        return f"{self.device_name}, {self.arch}"

    @property
    def is_amd(self) -> bool:
        """Whether it is AMD's machine code."""
        return self.arch.startswith("gfx")


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


@dataclass(frozen=True)
class Manifest:
    """Everything that is known about an artifact without running any of it.

    `contract`, `baked`, `guards` and `weights` are plain JSON that other rooms write and read.
    """

    versions: Versions = field(default_factory=Versions)
    needs: SystemNeeds = field(default_factory=SystemNeeds)
    target: str = "cpu"
    device: str = "cpu"
    backend: str = "inductor"
    builds: tuple[Build, ...] = ()
    built_for: BuiltFor | None = None
    contract: Mapping[str, Any] = field(default_factory=dict)
    baked: tuple[Any, ...] = ()
    guards: Mapping[str, Any] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    missing_names: tuple[str, ...] = ()
    external_data: tuple[str, ...] = ()
    weights: Mapping[str, Any] | None = None
    members: Mapping[str, Member] = field(default_factory=dict)
    signatures: tuple[Signature, ...] = ()
    schema: int = SCHEMA

    @property
    def digest(self) -> str:
        """`sha256:` and the hash of the manifest without its signatures: names all the content."""
        return f"sha256:{hashlib.sha256(self.signed_bytes()).hexdigest()}"

    def signed_bytes(self) -> bytes:
        """The bytes that a signature covers."""
        return replace(self, signatures=()).to_bytes()

    def to_bytes(self) -> bytes:
        """The content of `manifest.json`."""
        data = {"kind": KIND, **asdict(self)}
        return json.dumps(data, sort_keys=True, indent=1, ensure_ascii=True).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """Read what `to_bytes` wrote; raises `ArtifactError` for anything else."""
        try:
            data = json.loads(content)
        except ValueError as error:
            raise ArtifactError(
                f"The manifest of the artifact is damaged ({error}). Get the file again."
            ) from error
        if not isinstance(data, dict) or data.get("kind") != KIND:
            raise ArtifactError("The manifest is not one of this workbench: a foreign file.")
        _check_schema(data.get("schema"))
        try:
            return _manifest(data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArtifactError(
                f"The manifest of the artifact is damaged ({error}). Get the file again."
            ) from error


def _check_schema(schema: Any) -> None:
    if not isinstance(schema, int):
        raise ArtifactError("The manifest of the artifact names no schema: a foreign file.")
    if schema > SCHEMA:
        raise ArtifactError(
            f"The artifact has schema {schema}, this workbench reads up to {SCHEMA}. "
            "Upgrade aot-workbench to open it."
        )


def _record(cls: type[Record], data: Mapping[str, Any]) -> Record:
    known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known})


def _built_for(data: Mapping[str, Any]) -> BuiltFor:
    kernels = [_record(GpuKernel, v) for v in data["kernels"]]
    return _record(BuiltFor, {**data, "kernels": kernels})


def _manifest(data: Mapping[str, Any]) -> Manifest:
    target = data.get("built_for")
    parts = {
        **data,
        "built_for": None if target is None else _built_for(target),
        "versions": _record(Versions, data["versions"]),
        "needs": _record(SystemNeeds, data["needs"]),
        "members": {str(k): _record(Member, v) for k, v in data["members"].items()},
        "builds": [_record(Build, v) for v in data["builds"]],
        "signatures": [_record(Signature, v) for v in data["signatures"]],
    }
    return _record(Manifest, parts)
