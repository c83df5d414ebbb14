"""The GPUs that can be a target: those that come along, and the user's own."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from workbench.errors import UsageError
from workbench.plain_data import BY_HAND, parse_json, parse_toml, read_file
from workbench.specs.gpu import Gpu
from workbench.specs.spec_files import build_gpu

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
        made = cls(())
        for name, table in tables.items():
            made = made.adding(name, _inherited(table, parts), origin=name, documents=documents)
        return made

    @classmethod
    def of_user(cls, data_folder: Path) -> Catalogue:
        """The GPUs that come along and those that files in the folder `gpus` there describe."""
        made, folder = cls.built_in(), data_folder / "gpus"
        for file in sorted([*folder.glob("*.toml"), *folder.glob("*.json")]):
            made = made.with_file(file)
        return made

    def with_file(self, file: Path) -> Catalogue:
        """These and the GPUs of a file: one table for each, by its name.

        Raises `UsageError` where the file cannot be read, or a table in it is not a GPU.
        """
        made = self
        for name, table in _tables(file).items():
            if not isinstance(table, Mapping):
                raise UsageError(f"{file.name}: {name} must be a table that describes a GPU.")
            made = made.adding(name, table, origin=file.name)
        return made

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
        wanted = name.lower() if isinstance(name, str) else None
        for gpu in (*(g for g in self.gpus if g.name == wanted), *self.gpus):
            if wanted in (gpu.name, *gpu.aliases):
                return gpu
        near = difflib.get_close_matches(wanted or "", list(self.names()), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(
            f"There is no GPU {name!r}.{hint} Known: {', '.join(g.name for g in self.gpus)}."
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
        read = parse_json(content) if file.suffix == ".json" else parse_toml(content)
    except OSError as error:
        raise UsageError(f"{file.name} cannot be read: {error.strerror}.") from error
    except ValueError as error:  # of both formats, and text that is not UTF-8
        kind = file.suffix.removeprefix(".").upper()
        raise UsageError(f"{file.name} is not valid {kind}: {error}") from error
    if not isinstance(read, dict):
        raise UsageError(f"{file.name} must hold one table for each GPU, by its name.")
    return read
