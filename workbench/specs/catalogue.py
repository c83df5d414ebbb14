"""The GPUs that can be a target: built-in ones, and the user's own."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from importlib import resources
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

from workbench.device_kinds import VendorName
from workbench.errors import UsageError
from workbench.plain_data import BY_HAND, parse_json, parse_toml, read_file
from workbench.specs.gpu import DTYPES, Gpu, Rates

_FILES = (
    "nvidia_datacenter.toml",
    "nvidia_hopper_blackwell.toml",
    "nvidia_geforce.toml",
    "amd.toml",
)


@dataclass(frozen=True)
class Catalogue:
    """GPUs by name, in order; a later one replaces an earlier one of the same name."""

    gpus: tuple[Gpu, ...]

    @classmethod
    @cache
    def built_in(cls) -> Catalogue:
        """The GPUs that come along, each number with its source."""
        documents = _load("documents.toml")
        parts = _load("nvidia_architectures.toml")["architectures"]
        tables: dict[str, Any] = {}
        for file in _FILES:
            content = _load(file)
            parts |= content.get("architectures", {})
            tables |= content["gpus"]
        catalogue = cls(())
        for name, table in tables.items():
            catalogue = catalogue.adding(
                name, _inherited(table, parts), origin=name, documents=documents
            )
        return catalogue

    @classmethod
    def of_user(cls, data_folder: Path) -> Catalogue:
        """The GPUs that come along and those that files in the folder `gpus` there describe."""
        catalogue, folder = cls.built_in(), data_folder / "gpus"
        for file in sorted([*folder.glob("*.toml"), *folder.glob("*.json")]):
            catalogue = catalogue.with_file(file)
        return catalogue

    def with_file(self, file: Path) -> Catalogue:
        """These and the GPUs of a file: one table for each, by its name.

        Raises `UsageError` where the file cannot be read, or a table in it is not a GPU.
        """
        catalogue = self
        for name, table in _tables(file).items():
            if not isinstance(table, Mapping):
                raise UsageError(f"{file.name}: {name} must be a table that describes a GPU.")
            catalogue = catalogue.adding(name, table, origin=file.name)
        return catalogue

    def adding(
        self,
        name: str,
        table: Mapping[str, Any],
        *,
        origin: str = "given",
        documents: Mapping[str, str] | None = None,
    ) -> Catalogue:
        """These and one more, described by a table; `base` in it names a GPU to start from."""
        base = self[str(table["base"])] if "base" in table else None
        gpu = build_gpu(name, table, origin=origin, base=base, documents=documents)
        others = tuple(other for other in self.gpus if other.name != name)
        return Catalogue((*others, gpu))

    def __getitem__(self, name: str) -> Gpu:
        """The GPU of this name or alias; raises `UsageError` that lists what there is."""
        key = name.lower() if isinstance(name, str) else None
        for gpu in (*(g for g in self.gpus if g.name == key), *self.gpus):
            if key in (gpu.name, *gpu.aliases):
                return gpu
        near = difflib.get_close_matches(key or "", list(self.names()), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(
            f"GPU {name!r} is unknown.{hint} Choose one of {', '.join(g.name for g in self.gpus)}."
        )

    def __contains__(self, name: str) -> bool:
        return name.lower() in set(self.names())

    def __iter__(self) -> Iterator[Gpu]:
        return iter(self.gpus)

    def __len__(self) -> int:
        return len(self.gpus)

    def names(self) -> Iterator[str]:
        """Names, then aliases."""
        yield from (gpu.name for gpu in self.gpus)
        for gpu in self.gpus:
            yield from gpu.aliases


def _inherited(table: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """A table with what the architectures it is based on say; a base that is a GPU stays."""
    base = str(table.get("base"))
    if base not in parts:
        return dict(table)
    own = {key: value for key, value in table.items() if key != "base"}
    return _inherited(parts[base], parts) | own


def _load(name: str) -> dict[str, Any]:
    return parse_toml(resources.files("workbench.specs").joinpath("data", name).read_bytes())


def _tables(file: Path) -> dict[str, Any]:
    try:
        content = read_file(file, BY_HAND)
        tables = parse_json(content) if file.suffix == ".json" else parse_toml(content)
    except OSError as error:
        raise UsageError(f"{file.name} cannot be read: {error.strerror}.") from error
    except ValueError as error:  # of both formats, and text that is not UTF-8
        kind = file.suffix.removeprefix(".").upper()
        raise UsageError(f"{file.name} is not valid {kind}: {error}") from error
    if not isinstance(tables, dict):
        raise UsageError(
            f"{file.name} must have one table for each GPU, with the GPU's name as its key."
        )
    return tables


_RATES = ("vector", "matrix")
_LIMITS = (  # the first never exceeds the second
    ("shared_per_block", "shared_per_block_optin"),
    ("shared_per_block_optin", "shared_per_sm"),
    ("registers_per_block", "registers_per_sm"),
    ("register_unit", "registers_per_sm"),
    ("max_blocks_per_sm", "max_warps_per_sm"),
)
_REQUIRED = [
    field.name
    for field in fields(Gpu)
    if field.default is MISSING and field.default_factory is MISSING and field.name not in _RATES
]
_MAY_BE_ZERO = ("minor", "shared_reserved")


def build_gpu(
    name: str,
    table: Mapping[str, Any],
    *,
    origin: str,
    base: Gpu | None = None,
    documents: Mapping[str, str] | None = None,
) -> Gpu:
    """The GPU that a table describes, what it leaves out taken from `base`.

    A value is given as such or as `[value, source]`; `origin` is the source of the first kind.
    Raises `UsageError` for a field that is unknown, missing, of the wrong type, or contradicts
    another one.
    """
    _check_name(name, origin)
    values, sources = read(table, f"{name} in {origin}", origin, documents or {})
    filled: dict[str, Any] = base.values() | {"aliases": ()} if base else {}
    filled |= {"name": name} | values
    _check_complete(filled, f"{name} in {origin}")
    for part in _RATES:
        filled[part] = Rates(**{dtype: filled.pop(f"{part}.{dtype}", None) for dtype in DTYPES})
    filled["sources"] = (dict(base.sources) if base else {}) | sources
    gpu = Gpu(**filled)
    _check_limits(gpu, f"{name} in {origin}")
    return gpu


def read(
    table: Mapping[str, Any], where: str, origin: str, documents: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Checked values and expanded sources by field; `base` is left to the caller."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for key, value in _flat(table, where).items():
        source = origin
        is_pair = isinstance(value, (list, tuple)) and len(value) == 2 and key != "aliases"
        if is_pair and isinstance(value[1], str):  # a list of names never has a source
            value, source = value
            document, colon, place = source.partition(":")
            source = f"{documents[document]}:{place}" if colon and document in documents else source
        values[key] = _checked(key, value, where)
        if key not in ("aliases", "note"):
            sources[key] = source or origin
    return values, sources


def _flat(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, entry in table.items():
        if key == "base":
            continue
        if key in _RATES:
            if not isinstance(entry, Mapping):
                raise UsageError(f"{where}: {key} must be a table of rates by dtype.")
            flat |= {f"{key}.{dtype}": rate for dtype, rate in entry.items()}
        else:
            flat[key] = entry
    return flat


def _checked(key: str, value: Any, where: str) -> Any:
    if key == "aliases":
        if not isinstance(value, (list, tuple)) or not all(isinstance(a, str) for a in value):
            raise UsageError(f"{where}: aliases must be a list of names.")
        return tuple(value)
    expected = _expected(key, where)
    if expected is str:
        _must(isinstance(value, str), where, key, "a text", value)
        if key == "vendor":
            vendors = get_args(VendorName)
            _must(value in vendors, where, key, " or ".join(f'"{name}"' for name in vendors), value)
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    _must(is_number and math.isfinite(value), where, key, "a number", value)
    least = 0 if key in _MAY_BE_ZERO else 1e-9
    if expected is int:
        _must(isinstance(value, int) and value >= least, where, key, "a positive integer", value)
        return value
    _must(value > 0, where, key, "a positive number", value)
    return float(value)


def _must(holds: bool, where: str, key: str, expected: str, value: Any) -> None:
    if not holds:
        raise UsageError(f"{where}: {key} must be {expected}, not {value!r}.")


def _expected(key: str, where: str) -> type:
    """The type of a field: str, int or float."""
    kinds = _kinds()
    if key not in kinds:
        near = difflib.get_close_matches(key, kinds, n=1)
        hint = f"; did you mean {near[0]}?" if near else f". Fields: {', '.join(kinds)}."
        raise UsageError(f"{where}: field {key!r} does not exist{hint}")
    return kinds[key]


@cache
def _kinds() -> dict[str, type]:
    """What each field holds; of an optional one, what it holds when it is there."""
    kinds: dict[str, type] = {}
    for name, hint in get_type_hints(Gpu).items():
        if name in _RATES:
            kinds |= {f"{name}.{dtype}": float for dtype in DTYPES}
        elif name not in ("sources", "name"):
            options = [option for option in get_args(hint) if option is not NoneType] or [hint]
            kinds[name] = options[0] if isinstance(options[0], type) else str
    return kinds


def _check_complete(values: Mapping[str, Any], where: str) -> None:
    missing = [name for name in _REQUIRED if name not in values]
    if missing:
        raise UsageError(
            f"{where}: {', '.join(missing)} missing. Add these fields, or name a GPU to start "
            'from: base = "h100".'
        )


def _check_limits(gpu: Gpu, where: str) -> None:
    for small, large in _LIMITS:
        if getattr(gpu, small) > getattr(gpu, large):
            raise UsageError(
                f"{where}: {small} ({getattr(gpu, small)}) is larger than "
                f"{large} ({getattr(gpu, large)})."
            )


def _check_name(name: str, origin: str) -> None:
    plain = name.replace("-", "").isalnum() and name.isascii() and name == name.lower()
    if not plain or name.startswith("-"):
        raise UsageError(
            f"{origin}: {name!r} is not a valid target name. Use lower-case "
            "letters, digits and dashes."
        )
