"""The manifest of a `.pt2` package: what its models take, need and consist of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from workbench.artifacts.manifest import Build, Member, Signature, SystemNeeds, Versions
from workbench.errors import ArtifactError

SCHEMA = 1
KIND = "aot-workbench package"
FOLDER = "extra/workbench"  # below the root folder of the archive: torch hands it on unread
MANIFEST = f"{FOLDER}/manifest.json"
WEIGHTS = ("inside", "beside", "later")

Record = TypeVar("Record")


@dataclass(frozen=True)
class PackagedConstant:
    """One weight, buffer or constant: `name` in the library, `fqn` in the module.

    `size` is in bytes. With weights beside the library its bytes stand at `offset` of the member
    `member`.
    """

    name: str
    fqn: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    size: int
    member: str | None = None
    offset: int = 0


@dataclass(frozen=True)
class PackagedOutput:
    """One tensor that the library returns; a symbolic size is text."""

    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class PackagedModel:
    """One compiled model of a package; member names are relative to the archive's root folder.

    `contract` is the JSON of the input contract. `parameters` are the names and kinds
    (inspect's numbers) of the callable's parameters with the repr of constant defaults, `inputs`
    the texts of the leaf paths in the order in which the library takes them. `in_spec` and
    `out_spec` are torch's serialized tree specifications. `bucket` names, for one of several
    compiled shapes, the size of each bucketed dimension.
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


@dataclass(frozen=True)
class PackageManifest:
    """Everything that is known about a package without running any of it."""

    root: str
    models: tuple[PackagedModel, ...]
    versions: Versions = field(default_factory=Versions)
    needs: SystemNeeds = field(default_factory=SystemNeeds)
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
        """The content of the manifest's member."""
        data = {"kind": KIND, **asdict(self)}
        return json.dumps(data, sort_keys=True, indent=1, ensure_ascii=True).encode()

    def model(self, name: str | None = None) -> PackagedModel:
        """A model by name; without one the only model. Raises `ArtifactError` for others."""
        names = [model.name for model in self.models]
        if name is None and len(names) == 1:
            return self.models[0]
        if name not in names:
            what = "several models" if name is None else f"no model {name!r}"
            raise ArtifactError(f"The package holds {what}: name one of {', '.join(names)}.")
        return self.models[names.index(name)]

    @classmethod
    def from_bytes(cls, content: bytes) -> PackageManifest:
        """Read what `to_bytes` wrote; raises `ArtifactError` for anything else."""
        try:
            data = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ArtifactError(
                f"The manifest of the package is damaged ({error}). Get the file again."
            ) from error
        if not isinstance(data, dict) or data.get("kind") != KIND:
            raise ArtifactError("The manifest is not one of this workbench: a foreign file.")
        schema = data.get("schema")
        if not isinstance(schema, int) or schema > SCHEMA:
            raise ArtifactError(
                f"The package has schema {schema!r}, this workbench reads up to {SCHEMA}. "
                "Upgrade aot-workbench to open it."
            )
        try:
            return _manifest(data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArtifactError(
                f"The manifest of the package is damaged ({error}). Get the file again."
            ) from error


def _record(cls: type[Record], data: Mapping[str, Any]) -> Record:
    known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known})


def _model(data: Mapping[str, Any]) -> PackagedModel:
    isa = data.get("isa")
    parts = {
        **data,
        "constants": [_constant(v) for v in data["constants"]],
        "outputs": [_output(v) for v in data["outputs"]],
        "isa": None if isa is None else _record(Build, isa),
    }
    return _record(PackagedModel, parts)


def _constant(data: Mapping[str, Any]) -> PackagedConstant:
    return _record(PackagedConstant, data)


def _output(data: Mapping[str, Any]) -> PackagedOutput:
    return _record(PackagedOutput, data)


def _manifest(data: Mapping[str, Any]) -> PackageManifest:
    parts = {
        **data,
        "models": [_model(v) for v in data["models"]],
        "versions": _record(Versions, data["versions"]),
        "needs": _record(SystemNeeds, data["needs"]),
        "members": {str(k): _record(Member, v) for k, v in data["members"].items()},
        "signatures": [_record(Signature, v) for v in data["signatures"]],
    }
    return _record(PackageManifest, parts)
