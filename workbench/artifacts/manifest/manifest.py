"""The manifest: what an artifact is, what it needs, what it checks, what it consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.artifacts.manifest.manifest_json import (
    Build,
    Member,
    Signature,
    SignedRecord,
    SystemNeeds,
    Versions,
)
from workbench.device_kinds import Vendor, vendor_of_arch
from workbench.errors import ArtifactError
from workbench.typed_data import read_row

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
