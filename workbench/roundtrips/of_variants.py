"""A function with its breaks and variants made ready for a round trip."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from workbench.artifacts.archive.file_kinds import open_any
from workbench.compiler.aot_files.recorded_variants import target_of
from workbench.compiler.aot_files.registries import read_entries
from workbench.compiler.aot_files.variant_files import REGISTRIES
from workbench.compiler.contract.specialized_values import find_importable_name
from workbench.compiler.internals import torch_private as tp
from workbench.errors import ArtifactError
from workbench.handles.packages.frame_variants import LoadedVariants, Variants
from workbench.report import Report, Request
from workbench.report.file_rows import CPP
from workbench.roundtrips.subject import (
    NEED_ORIGINAL,
    Shipment,
    TripPlan,
    require_same,
    run_expected,
    takes_grad,
)

_NO_LOADER = "torch has no loader of its own for a function with its breaks"
_NO_CLIENT = "code with breaks runs in Python: a client in C++ is written for packages"
_NO_NAME = (
    "no other process has {name}: it, or the class of what it belongs to, stands in a script, a "
    "notebook or another function. Put that into a module"
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
        contract = {} if opened.manifest is None else opened.manifest.contract
    registries = contract.get(REGISTRIES, ())
    require_same(file, not isinstance(variants, LoadedVariants) or digest == variants.digest)
    shipment.reasons.update({"torch": _NO_LOADER, CPP: _NO_CLIENT})
    fn = variants.fn
    if not _can_be_imported(fn):
        shipment.reasons["ours"] = _NO_NAME.format(name=variants.name)
    original = reference or fn
    order = {
        "kind": "variants",
        "file": str(file),
        "digest": digest,
        "inputs": shipment.inputs(args, kwargs, compile={"fullgraph": False}),
        "original": shipment.original(original, (), NEED_ORIGINAL),
        # what a library noted down when the module was made; there it is only unpickled
        "function": shipment.original(fn, (), ("ours",), noted=read_entries(registries)),
        "no_grad": False,
        "grad": takes_grad(no_grad=False),
    }
    owner = fn if isinstance(fn, torch.nn.Module) else None
    return TripPlan(
        name=variants.name,
        file=file,
        digest=digest,
        order=order,
        report=Report(request=Request(name=variants.name, kind="code with breaks")),
        expected=run_expected(original, args, kwargs, owner, no_grad=False),
        reasons=shipment.reasons,
        folders=shipment.folders,
        operators=_operators(variants),
        saved_s=saved_s,
        draws_otherwise=not tp.INDUCTOR_CONFIG.get().fallback_random,
    )


def _file_of(variants: Variants | LoadedVariants, folder: Path) -> tuple[Path, float | None]:
    """The file, and the seconds that writing it took."""
    if isinstance(variants, LoadedVariants):
        return Path(variants.path).resolve(), None
    start = time.perf_counter()
    variants.save(folder / "saved.aotv")
    return folder / "saved.aotv", time.perf_counter() - start


def _can_be_imported(fn: Callable[..., Any]) -> bool:
    """Whether another process has the function that Dynamo compiles, and the class it is of."""
    target = target_of(fn)
    owner = getattr(target, "__self__", None)
    parts = (getattr(target, "__func__", target), *(() if owner is None else (type(owner),)))
    names = [find_importable_name(part) for part in parts]
    return all(name is not None and not name.startswith("__main__:") for name in names)


def _operators(variants: Variants | LoadedVariants) -> frozenset[str]:
    """What was captured in any part, as far as its session tells."""
    try:
        session = variants.session
    except ArtifactError:  # the file holds none
        return frozenset()
    reports = () if session is None else session.reports.values()
    return frozenset(name for one in reports for name in one.nodes.columns.get("target", ()))
