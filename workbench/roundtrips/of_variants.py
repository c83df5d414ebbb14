"""A function with its breaks and variants made ready for a round trip."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from workbench.artifacts.archive.file_kinds import open_any
from workbench.errors import ArtifactError
from workbench.handles.packages.frame_variants import LoadedVariants, Variants
from workbench.report import Report, Request
from workbench.report.file_rows import CPP
from workbench.roundtrips.subject import Shipment, TripPlan, expected_of

_NEED_ORIGINAL = ("eager", "compile_cold", "compile_warm")
_NO_LOADER = "torch has no loader of its own for a function with its breaks"
_NO_CLIENT = "code with breaks runs in Python: a client in C++ is written for packages"
_OF_MAIN = (
    "{name} stands in a script or a notebook, which no other process has: put it into a module, "
    "or run the script again to load the file there"
)


def plan_of_variants(
    variants: Variants | LoadedVariants,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    reference: Callable[..., Any] | None,
    folder: Path,
    shipment: Shipment,
) -> TripPlan:
    """The file and the function that its code stands under, which every way needs.

    Raises `ArtifactError` when the file is another one by now, `UsageError` when the inputs cannot
    be sent.
    """
    file, saved_s = _file_of(variants, folder)
    with open_any(file) as opened:
        digest = opened.digest
    if isinstance(variants, LoadedVariants) and digest != variants.digest:
        raise ArtifactError(f"{file.name} is another file than the one that was loaded: load it.")
    shipment.reasons.update({"torch": _NO_LOADER, CPP: _NO_CLIENT})
    fn = variants.fn
    if _module_of(fn) == "__main__":
        shipment.reasons["ours"] = _OF_MAIN.format(name=variants.name)
    original = reference or fn
    order = {
        "kind": "variants",
        "file": str(file),
        "digest": digest,
        "inputs": shipment.inputs(args, kwargs, compile={"fullgraph": False}),
        "original": shipment.original(original, (), _NEED_ORIGINAL),
        "function": shipment.original(fn, (), ("ours",)),
        "no_grad": False,
    }
    owner = fn if isinstance(fn, torch.nn.Module) else None
    return TripPlan(
        name=variants.name,
        file=file,
        digest=digest,
        order=order,
        report=Report(request=Request(name=variants.name, kind="code with breaks")),
        expected=expected_of(original, args, kwargs, owner, no_grad=False),
        reasons=shipment.reasons,
        folders=shipment.folders,
        saved_s=saved_s,
    )


def _file_of(variants: Variants | LoadedVariants, folder: Path) -> tuple[Path, float | None]:
    """The file, and the seconds that writing it took."""
    if isinstance(variants, LoadedVariants):
        return Path(variants.path).resolve(), None
    start = time.perf_counter()
    variants.save(folder / "saved.aotv")
    return folder / "saved.aotv", time.perf_counter() - start


def _module_of(fn: Callable[..., Any]) -> str:
    return (type(fn) if isinstance(fn, torch.nn.Module) else fn).__module__
