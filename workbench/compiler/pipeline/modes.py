"""Compile modes, expanded into Inductor options so that they can be merged with the user's."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.pipeline.aotinductor_names import advice
from workbench.errors import UsageError


def merged_options(
    backend: str, mode: str | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The mode's options overlaid with the user's, and a sentence for each conflict.

    torch takes a mode or options, never both. Raises `UsageError` for an unknown option, for a
    value of the wrong type, and for a mode or options that the backend does not take.
    """
    if backend != "inductor":
        if options or mode not in (None, "default"):
            raise UsageError(
                f"backend {backend!r} takes no mode and no options; they configure 'inductor'. "
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
        "option 'freezing' puts the weights into what torch compiles as a function that cannot be "
        "saved. Leave it out, or use wb.package(…, options={'freezing': True})."
    )


def check_options(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an option that Inductor does not have, with the nearest match."""
    known: Mapping[str, Any] = tp.INDUCTOR_CONFIG.get().get_config_copy()
    for name, value in options.items():
        key = name.replace("-", "_")
        if key == "guard_filter_fn":
            raise UsageError("Pass the guard filter as guards=…, not in options.")
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = advice(key) or (f"Did you mean {near[0]!r}?" if near else "")
            raise UsageError(f"Inductor has no option {name!r}. {hint}".rstrip())
        expected = type(known[key])
        if isinstance(known[key], bool | int | str) and not isinstance(value, expected):
            raise UsageError(
                f"option {name!r} is {value!r} ({type(value).__name__}); "
                f"expected {expected.__name__}, the default is {known[key]!r}."
            )
