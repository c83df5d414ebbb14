"""Manifests as JSON: what was read is compared with the types, so that nothing else gets in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property, partial
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, TypeVar, get_args, get_origin, get_type_hints

from workbench.errors import ArtifactError
from workbench.plain_data import parse_json

Record = TypeVar("Record")
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
            return read_record(cls, data).remembering(data, indent)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
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


def read_record(cls: type[Record], data: Any) -> Record:
    """A data class from JSON; raises TypeError or ValueError for what does not have its types."""
    if not isinstance(data, Mapping):
        raise TypeError(f"{cls.__name__} is {type(data).__name__}")
    kind: Any = cls
    readers = _readers(kind)
    return cls(**{name: readers[name](data[name]) for name in readers if name in data})


Reader = Callable[[Any], Any]


@cache
def _readers(cls: Any) -> Mapping[str, Reader]:
    hints = get_type_hints(cls)
    return {part.name: _reader(hints[part.name]) for part in fields(cls)}


@cache
def _reader(kind: Any) -> Reader:
    """Reads what has one type: chosen once, since a manifest holds many values of few types."""
    if kind is Any:
        return lambda value: value
    if is_dataclass(kind) and isinstance(kind, type):
        return partial(read_record, kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is tuple:
        return _sequence(kind, _reader(inner[0]))
    if origin is UnionType:
        return _union(kind, {part: _reader(part) for part in inner})
    if origin is not None and issubclass(dict, origin):
        return _mapping(kind, _reader(inner[1]))
    return _plain(kind)


def _plain(kind: Any) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise _other(kind, value)
        return value

    return read


def _sequence(kind: Any, item: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise _other(kind, value)
        return tuple([item(part) for part in value])

    return read


def _mapping(kind: Any, item: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _other(kind, value)
        return {name: item(part) for name, part in value.items()}

    return read


def _union(kind: Any, readers: Mapping[Any, Reader]) -> Reader:
    """Plain values are of the part that has their type; others of the one that is not plain."""
    rest = next((readers[part] for part in readers if part not in (NoneType, str, int)), None)

    def read(value: Any) -> Any:
        reader = readers.get(type(value), rest)
        if reader is None:
            raise _other(kind, value)
        return reader(value)

    return read


def _other(kind: Any, value: Any) -> TypeError:
    return TypeError(f"{value!r:.80} where {kind} belongs")


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
