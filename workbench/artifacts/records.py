"""Manifests as JSON: what was read is compared with the types, so that nothing else gets in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Any, ClassVar, Never, Self, TypeVar, get_args, get_origin, get_type_hints

from workbench.errors import ArtifactError

Record = TypeVar("Record")
Signed = TypeVar("Signed", bound="SignedRecord")


@dataclass(frozen=True)
class SignedRecord:
    """A manifest that names its kind and its schema, and that signatures can cover."""

    KIND: ClassVar[str]
    SCHEMA: ClassVar[int]
    NOUN: ClassVar[str]  # what the errors call the file
    INDENT: ClassVar[int | None] = 1  # None is ten times as fast, for what is read at every start

    @cached_property
    def digest(self) -> str:
        """`sha256:` and the hash of the manifest without its signatures: names all the content."""
        return f"sha256:{hashlib.sha256(self.signed_bytes()).hexdigest()}"

    def signed_bytes(self) -> bytes:
        """The bytes that a signature covers."""
        return _bytes({**self.data, "signatures": []}, self.INDENT)

    def to_bytes(self) -> bytes:
        """The content of the manifest's member."""
        return _bytes(self.data, self.INDENT)

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """What the JSON holds: as it was read, since later releases may add fields."""
        return {"kind": self.KIND, **asdict(self)}

    def remembering(self, data: Mapping[str, Any]) -> Self:
        """The record itself, as one that was read from `data`."""
        self.__dict__["data"] = data
        return self

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read what `to_bytes` wrote; raises `ArtifactError` for anything else."""
        try:
            data = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ArtifactError(
                f"The manifest of the {cls.NOUN} is damaged ({error}). Get the file again."
            ) from error
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
        try:
            return read_record(cls, data).remembering(data)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ArtifactError(
                f"The manifest of the {cls.NOUN} is damaged ({error}). Get the file again."
            ) from error


def with_signatures(record: Signed, signatures: Sequence[Any]) -> Signed:
    """The same manifest with other signatures: what they cover and its digest stay."""
    found = replace(record, signatures=tuple(signatures))  # type: ignore[call-arg]
    rows = [asdict(signature) for signature in signatures]
    return found.remembering({**record.data, "signatures": rows})


def _bytes(data: Mapping[str, Any], indent: int | None) -> bytes:
    return json.dumps(data, sort_keys=True, indent=indent, ensure_ascii=True).encode()


def read_record(cls: type[Record], data: Any) -> Record:
    """A data class from JSON; raises TypeError or ValueError for what does not have its types."""
    if not isinstance(data, Mapping):
        raise TypeError(f"{cls.__name__} is {type(data).__name__}")
    kind: Any = cls
    types = _types(kind)
    return cls(**{name: _read(types[name], data[name]) for name in types if name in data})


@cache
def _types(cls: Any) -> Mapping[str, Any]:
    hints = get_type_hints(cls)
    return {part.name: hints[part.name] for part in fields(cls)}


def _read(kind: Any, value: Any) -> Any:
    if kind is Any:
        return value
    if is_dataclass(kind) and isinstance(kind, type):
        return read_record(kind, value)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is tuple and isinstance(value, list):
        return tuple(_read(inner[0], item) for item in value)
    if isinstance(value, dict) and origin is not None and issubclass(dict, origin):
        return {name: _read(inner[1], item) for name, item in value.items()}
    if origin is UnionType:
        return _read(_chosen(inner, value), value)
    if origin is None and type(value) is kind:
        return value
    raise TypeError(f"{value!r:.80} where {kind} belongs")


def _chosen(kinds: tuple[Any, ...], value: Any) -> Any:
    """The part of a union that a value must have."""
    if type(value) in kinds:
        return type(value)
    return next((kind for kind in kinds if kind not in (NoneType, str, int)), Never)
