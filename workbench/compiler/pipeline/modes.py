"""Options of Inductor as users write them: by mode, by name, by a name that is gone."""

from __future__ import annotations

import difflib
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
from workbench.errors import UsageError

if TYPE_CHECKING:
    import pandas


def merge_options(
    backend: str, mode: str | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The mode's options overlaid with the user's, and a sentence for each conflict.

    torch takes a mode or options, never both. Raises `UsageError` for an unknown option, for a
    value of the wrong type, and for a mode or options that the backend does not take.
    """
    if backend != "inductor":
        if options or mode not in (None, "default"):
            raise UsageError(
                f"backend {backend!r} takes neither mode nor options; these configure 'inductor'. "
                "Leave them out or compile with backend='inductor'."
            )
        return {}, ()
    check_options(options)
    merged = dict(tp.LIST_MODE_OPTIONS.get()(mode)) if mode else {}
    chosen = {name.replace("-", "_"): value for name, value in options.items()}
    notes = tuple(
        f"option {name}={value!r} replaces {merged[name]!r}, which mode {mode!r} sets"
        for name, value in chosen.items()
        if name in merged and merged[name] != value
    )
    return {**merged, **chosen}, notes


def check_freezing(options: Mapping[str, Any], *, grad: bool) -> tuple[str, ...]:
    """A sentence when freezing weights has no effect; `UsageError` when no file could hold it."""
    if not options.get("freezing", tp.INDUCTOR_CONFIG.get().freezing):
        return ()
    if grad:
        return ("option freezing has no effect while gradients are recorded",)
    raise UsageError(
        "option 'freezing' puts the weights into the compiled code, which then cannot be saved. "
        "Leave it out, or use wb.package(…, options={'freezing': True})."
    )


def check_options(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an option that Inductor does not have, with the nearest match."""
    defaults: Mapping[str, Any] = tp.INDUCTOR_CONFIG.get().get_config_copy()
    for name, value in options.items():
        key = name.replace("-", "_")
        if key == "guard_filter_fn":
            raise UsageError("Pass the guard filter as guards=…, not in options.")
        if key not in defaults:
            near = difflib.get_close_matches(key, defaults, n=1)
            hint = advice(key) or (f"Did you mean {near[0]!r}?" if near else "")
            raise UsageError(f"Inductor has no option {name!r}. {hint}".rstrip())
        expected = type(defaults[key])
        if isinstance(defaults[key], bool | int | str) and not isinstance(value, expected):
            raise UsageError(
                f"option {name!r} is {value!r} ({type(value).__name__}); "
                f"expected {expected.__name__}, the default is {defaults[key]!r}."
            )


# how articles and older documentation write AOTInductor, and what that is in torch now


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
def list_written_names() -> tuple[WrittenName, ...]:
    """Every row, in the order of the table."""
    source = files("workbench.compiler.pipeline") / "aotinductor_names.toml"
    rows: list[dict[str, Any]] = tomllib.loads(source.read_text(encoding="utf-8"))["row"]
    lookups = ({name: tuple(row.get(name, ())) for name in ("there", "gone")} for row in rows)
    return tuple(WrittenName(**{**row, **names}) for row, names in zip(rows, lookups, strict=True))


def build_names_frame() -> pandas.DataFrame:
    """A row per way of writing; `holds` says whether the installed torch is as described."""
    import pandas

    rows = [{**asdict(row), "holds": row.holds()} for row in list_written_names()]
    columns = ["written", "language", "verdict", "instead", "here", "why", "holds"]
    return pandas.DataFrame(rows, columns=columns)


def advice(text: str) -> str:
    """What to write instead of an option, function or keyword that is gone; "" if none is known."""
    for row in list_written_names():
        names = {name.rpartition(":")[2].rpartition(".")[2] for name in row.gone}
        if row.verdict != "works" and text in names:
            return f"{row.why} Instead: {row.instead}."
    return ""


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
    function = _named(kind)
    return function is not None and (not rest or rest in inspect.signature(function).parameters)


def _named(dotted: str) -> Any:
    """The object of a dotted name, or None."""
    first, *rest = dotted.split(".")
    value: Any = importlib.import_module(first)
    for part in rest:
        name = getattr(value, "__name__", "")
        if not hasattr(value, part) and inspect.ismodule(value):
            spec = importlib.util.find_spec(f"{name}.{part}")
            if spec is None:
                return None
            importlib.import_module(f"{name}.{part}")
        value = getattr(value, part, None)
        if value is None:
            return None
    return value
