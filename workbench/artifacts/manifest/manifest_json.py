"""Manifests as JSON: what was read is compared with the types, so that nothing else gets in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

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
            raise ArtifactError("The manifest is not one of this workbench: a foreign file.")
        schema = data.get("schema")
        if not isinstance(schema, int):
            raise ArtifactError(f"The manifest of the {cls.NOUN} names no schema: a foreign file.")
        if schema > cls.SCHEMA:
            raise ArtifactError(
                f"The {cls.NOUN} has schema {schema}, this workbench reads up to {cls.SCHEMA}. "
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
