"""How articles and older documentation write AOTInductor, and what that is in torch now."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.internals import torch_private as tp

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class WrittenName:
    """One way of writing: as in an article, what became of it, what to write instead and here.

    `verdict` is "works", "renamed", "different" (exists, but is called otherwise or does otherwise)
    or "gone". `there` and `gone` are what has to be found and not found in torch for that.
    """

    written: str
    language: str
    verdict: str
    why: str
    instead: str = ""
    here: str = ""
    there: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def holds(self) -> bool:
        """Whether the installed torch has what the row says, and lacks what it says is gone."""
        return all(map(is_there, self.there)) and not any(map(is_there, self.gone))


@cache
def written_names() -> tuple[WrittenName, ...]:
    """Every row, in the order of the table."""
    source = files("workbench.compiler.pipeline") / "aotinductor_names.toml"
    rows: list[dict[str, Any]] = tomllib.loads(source.read_text(encoding="utf-8"))["row"]
    return tuple(_row(row) for row in rows)


def _row(data: Mapping[str, Any]) -> WrittenName:
    lookups = {name: tuple(data.get(name, ())) for name in ("there", "gone")}
    return WrittenName(**{**data, **lookups})


def names_frame() -> pandas.DataFrame:
    """A row per way of writing; `holds` says whether the installed torch is as described."""
    import pandas

    rows = [{**asdict(row), "holds": row.holds()} for row in written_names()]
    columns = ["written", "language", "verdict", "instead", "here", "why", "holds"]
    return pandas.DataFrame(rows, columns=columns)


def advice(text: str) -> str:
    """What to write instead of an option, function or keyword that is gone; "" if none is known."""
    for row in written_names():
        if row.verdict != "works" and any(_last(name) == text for name in row.gone):
            return f"{row.why} Instead: {row.instead}."
    return ""


def _last(name: str) -> str:
    return name.rpartition(":")[2].rpartition(".")[2]


def is_there(lookup: str) -> bool:
    """Whether torch has a name, a function's parameter, an option, or a text in a header."""
    kind, _, rest = lookup.partition(":")
    if kind == "option":
        options: Mapping[str, Any] = tp.INDUCTOR_CONFIG.get().get_config_copy()
        return rest in options
    if kind == "header":
        file, _, text = rest.partition(":")
        header = Path(torch.__file__).parent / "include" / file
        return header.is_file() and text in header.read_text(encoding="utf-8")
    found = _named(kind)
    return found is not None and (not rest or rest in inspect.signature(found).parameters)


def _named(dotted: str) -> Any:
    """The object of a dotted name, or None."""
    first, *rest = dotted.split(".")
    found: Any = importlib.import_module(first)
    for part in rest:
        name = getattr(found, "__name__", "")
        if not hasattr(found, part) and inspect.ismodule(found):
            spec = importlib.util.find_spec(f"{name}.{part}")
            if spec is None:
                return None
            importlib.import_module(f"{name}.{part}")
        found = getattr(found, part, None)
        if found is None:
            return None
    return found
