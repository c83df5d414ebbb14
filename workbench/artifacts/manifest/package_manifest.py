"""The manifest of a `.pt2` package: what its models take, need and consist of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from workbench.artifacts.manifest.manifest import (
    Build,
    Member,
    Signature,
    SignedRecord,
    SystemNeeds,
    Versions,
)
from workbench.errors import ArtifactError

SCHEMA = 1
FOLDER = "extra/workbench"  # below the root folder of the archive: torch hands it on unread
MANIFEST = f"{FOLDER}/manifest.json"
WEIGHTS = ("inside", "beside", "later")


@dataclass(frozen=True)
class PackagedConstant:
    """One weight, buffer or constant: `name` in the library, `fqn` in the module.

    `size` is in bytes. With weights beside the library its bytes are at `offset` of the member
    `member`. `kind` is "parameter", "buffer" or "constant"; `aliases` are the other names of the
    same tensor in the module (tied weights); a `mutated` buffer is written by the library.
    """

    name: str
    fqn: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    size: int
    member: str | None = None
    offset: int = 0
    kind: str = "parameter"
    aliases: tuple[str, ...] = ()
    mutated: bool = False


@dataclass(frozen=True)
class PackagedOutput:
    """One handle that the library returns, in the order of `out_spec`; a symbolic size is text.

    `type` is "tensor", or that of the Python value in its place: "int", "float" and "bool" are
    returned as tensors without a dimension, "NoneType" as a null handle.
    """

    dtype: str
    shape: tuple[int | str, ...]
    type: str = "tensor"


@dataclass(frozen=True)
class PackagedModel:
    """One compiled model of a package; member names are relative to the archive's root folder.

    `contract` is the JSON of the input contract. `parameters` are the names and kinds
    (inspect's numbers) of the callable's parameters with the repr of constant defaults, `inputs`
    the texts of the leaf paths in the order in which the library takes them. `in_spec` and
    `out_spec` are torch's serialized tree specifications. `bucket` names, for one of several
    compiled shapes, the size of each bucketed dimension. `operators` are the custom operators that
    it calls, such as `mine::scale.default`. One of several variants says itself for which release
    of `torch` its library is and what that `needs`. `target` is the GPU, by its name among the
    targets, that it was compiled for without one, `arch` the architecture of its kernels ("sm_90").
    """

    name: str
    device: str
    folder: str
    library: str
    contract: Mapping[str, Any]
    parameters: tuple[Any, ...]
    inputs: tuple[str, ...]
    outputs: tuple[PackagedOutput, ...]
    in_spec: str
    out_spec: str
    constants: tuple[PackagedConstant, ...] = ()
    weights: str = "inside"
    needs_proxy: bool = False
    report: str | None = None
    reference: str | None = None
    bucket: Mapping[str, int] | None = None
    isa: Build | None = None
    operators: tuple[str, ...] = ()
    torch: str = ""
    needs: SystemNeeds | None = None
    target: str = ""
    arch: str = ""

    @property
    def made_for(self) -> str:
        """What it was compiled for, in words: a processor's instructions, or a GPU."""
        if self.device.partition(":")[0] == "cpu":
            return f"cpu, {self.isa.name if self.isa else 'any processor'}"
        gpu = " ".join(filter(None, (self.target, f"({self.arch})" if self.arch else "")))
        return f"{self.device}, {gpu or 'the GPU that it was compiled on'}"


@dataclass(frozen=True)
class PackageManifest(SignedRecord):
    """Everything that is known about a package without running any of it.

    `bucketing` says, for one model in several compiled sizes, how requests use them.
    `are_variants` says that the models are one: compiled several times, for other devices,
    processors, dtypes or sizes.
    """

    KIND: ClassVar[str] = "aot-workbench package"
    SCHEMA: ClassVar[int] = SCHEMA
    NOUN: ClassVar[str] = "package"

    root: str
    models: tuple[PackagedModel, ...]
    versions: Versions = field(default_factory=Versions)
    needs: SystemNeeds = field(default_factory=SystemNeeds)
    members: Mapping[str, Member] = field(default_factory=dict)
    signatures: tuple[Signature, ...] = ()
    bucketing: Mapping[str, Any] | None = None
    are_variants: bool = False
    schema: int = SCHEMA

    def alone(self, model: PackagedModel) -> PackageManifest:
        """What a file with one of the variants alone would need."""
        versions = replace(self.versions, torch=model.torch or self.versions.torch)
        return replace(
            self,
            models=(model,),
            versions=versions,
            needs=model.needs or self.needs,
            are_variants=False,
        )

    def model(self, name: str | None = None) -> PackagedModel:
        """A model by name; without one the only model. Raises `ArtifactError` for others."""
        names = [model.name for model in self.models]
        if name is None and len(names) == 1:
            return self.models[0]
        if name not in names:
            what = "several models" if name is None else f"no model {name!r}"
            raise ArtifactError(f"The package holds {what}: name one of {', '.join(names)}.")
        return self.models[names.index(name)]
