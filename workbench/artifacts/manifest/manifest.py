"""The manifest: what an artifact is, what it needs, what it checks, what it consists of.

What is read of its JSON is compared with the types, so that nothing else gets in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from workbench.device_kinds import Vendor, vendor_of_arch
from workbench.errors import ArtifactError
from workbench.plain_data import parse_json
from workbench.typed_data import read_row

Signed = TypeVar("Signed", bound="SignedRecord")


@dataclass(frozen=True)
class SignedRecord:
    """A manifest that names its kind and its schema, and that signatures can cover."""

    KIND: ClassVar[str]
    SCHEMA: ClassVar[int]
    NOUN: ClassVar[str]  # what the errors call the file

    @cached_property
    def digest(self) -> str:
        """`sha256:` and the hash of the manifest without its signatures: names all the content."""
        return f"sha256:{hashlib.sha256(self.signed_bytes()).hexdigest()}"

    def signed_bytes(self) -> bytes:
        """The bytes that a signature covers."""
        return _bytes({**self.data, "signatures": []}, self.indent)

    def to_bytes(self) -> bytes:
        """The content of the manifest's member."""
        return _bytes(self.data, self.indent)

    @cached_property
    def indent(self) -> int | None:
        """How far the JSON is indented: 1 in older files; none is ten times as fast to write."""
        return None

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """What the JSON holds: as it was read, since later releases may add fields."""
        return {"kind": self.KIND, **asdict(self)}

    def remembering(self, data: Mapping[str, Any], indent: int | None) -> Self:
        """The record itself, as one that was read from `data`, written with an indent."""
        self.__dict__.update(data=data, indent=indent)
        return self

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read what `to_bytes` wrote; raises `ArtifactError` for anything else."""
        try:
            data = parse_json(content)
            cls._check_kind(data)
            indent = 1 if content.startswith(b"{\n") else None
            return read_row(cls, data).remembering(data, indent)
        except (TypeError, ValueError, RecursionError) as error:
            raise ArtifactError(
                f"The manifest of the {cls.NOUN} is damaged ({error}). Get the file again."
            ) from error

    @classmethod
    def _check_kind(cls, data: Any) -> None:
        if not isinstance(data, dict) or data.get("kind") != cls.KIND:
            raise ArtifactError("The manifest was not written by aot-workbench.")
        schema = data.get("schema")
        if not isinstance(schema, int):
            raise ArtifactError(
                f"The manifest of the {cls.NOUN} has no schema: not written by aot-workbench."
            )
        if schema > cls.SCHEMA:
            raise ArtifactError(
                f"The {cls.NOUN} has schema {schema}, but this workbench reads up to {cls.SCHEMA}. "
                "Upgrade aot-workbench to open it."
            )


def replace_signatures(record: Signed, signatures: Sequence[Any]) -> Signed:
    """The same manifest with other signatures: what they cover and its digest stay."""
    signed = replace(record, signatures=tuple(signatures))  # type: ignore[call-arg]
    rows = [asdict(signature) for signature in signatures]
    return signed.remembering({**record.data, "signatures": rows}, record.indent)


def _bytes(data: Mapping[str, Any], indent: int | None) -> bytes:
    return json.dumps(data, sort_keys=True, indent=indent, ensure_ascii=True).encode()


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


SCHEMA = 1


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
    without a build (+cu130) means every build, `toolkit` None for every release. `torch_key`
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
    def kind(self) -> Vendor:
        """Whose machine code it is."""
        return vendor_of_arch(self.arch)


@dataclass(frozen=True)
class StoredCall:
    """What the contract of an artifact says besides the inputs.

    `imports` are the places of globals, in older files as lists. `receiver` is the class of the
    module, where one has to be handed over.
    """

    name: str = "function"
    receiver: str | None = None
    function_module: str | None = None
    imports: Mapping[str, str | tuple[str | None, ...]] = field(default_factory=dict)
    live_globals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest(SignedRecord):
    """Everything that is known about an artifact without running any of it.

    `contract`, `baked`, `guards` and `weights` are plain JSON that other rooms write and read.
    """

    KIND: ClassVar[str] = "aot-workbench artifact"
    SCHEMA: ClassVar[int] = SCHEMA
    NOUN: ClassVar[str] = "artifact"

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
    def call(self) -> StoredCall:
        """What `contract` says besides the inputs; raises `ArtifactError` where it is damaged."""
        try:
            return read_row(StoredCall, self.contract)
        except ValueError as error:
            raise ArtifactError(
                f"The manifest is damaged ({error}). Get the file again."
            ) from error
