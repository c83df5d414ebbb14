"""A package made ready for a round trip: its file is there, inputs and original are packed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from workbench.artifacts.archive.file_kinds import open_any
from workbench.errors import ArtifactError
from workbench.handles.package import Package
from workbench.report import Report, Request
from workbench.roundtrips.subject import Shipment, TripPlan, expected_of, original_of

_NEED_ORIGINAL = ("eager", "compile_cold", "compile_warm")
LATER = "later"


def subject_of(
    package: Package,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    reference: Callable[..., Any] | None,
    model: str | None,
    shipment: Shipment,
) -> TripPlan:
    """The file as it is, and what the ways need besides it.

    Raises `ArtifactError` when the file has changed since it was loaded, or has no such model.
    """
    packed = package.manifest.model(model)
    file = Path(package.path).resolve()
    with open_any(file) as opened:
        digest = opened.digest
        is_same = opened.signed is None or digest == package.digest
    if not is_same:
        raise ArtifactError(f"{file.name} is another file than the one that was loaded: load it.")
    original = original_of(reference, package.originals.get(packed.name), packed.reference)
    has_weights = packed.weights != LATER
    order = {
        "file": str(file),
        "digest": digest,
        "model": packed.name,
        "has_weights": has_weights,
        "inputs": shipment.inputs(args, kwargs, compile={}),
        "original": shipment.original(
            original, (), (*_NEED_ORIGINAL, *(() if has_weights else ("ours", "torch")))
        ),
        "no_grad": True,
    }
    owner = original if isinstance(original, torch.nn.Module) else None
    return TripPlan(
        name=packed.name if model else file.name,
        file=file,
        digest=digest,
        order=order,
        report=_report(package, packed.name),
        expected=expected_of(original, args, kwargs, owner, no_grad=True),
        reasons=shipment.reasons,
        folders=shipment.folders,
    )


def _report(package: Package, name: str) -> Report:
    """The report of the package; what torch itself wrote has none."""
    try:
        return package.report
    except ArtifactError:
        return Report(request=Request(name=name, kind="package of torch"))
