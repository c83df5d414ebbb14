"""A compiled function or a package made ready for a round trip: its file, inputs and original."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from workbench.artifacts.archive.aot_container import PAYLOAD
from workbench.artifacts.archive.file_kinds import find_pickle_start, open_any
from workbench.artifacts.inspect.opcodes import read_pickle
from workbench.compiler.aot_files import serializability
from workbench.compiler.aot_files.file_tables import with_file
from workbench.errors import ArtifactError, UsageError, WorkbenchError, read_first_line
from workbench.handles.compiled import Compiled
from workbench.handles.compiled_base import CompiledBase
from workbench.handles.package import Package
from workbench.handles.packages.frame_variants import LoadedVariants, Variants
from workbench.handles.save import save_compiled
from workbench.handles.verify import has_other_draws
from workbench.report import Report, Request
from workbench.report.file_rows import CPP
from workbench.roundtrips.of_variants import plan_of_variants
from workbench.roundtrips.subject import (
    NEED_ORIGINAL,
    Shipment,
    TripPlan,
    choose_original,
    require_same,
    run_expected,
    takes_grad,
)

_LATER = "later"
_NO_CLIENT = "a client in C++ is written for packages: wb.package(model, args, path=...)"


def subject_of(
    x: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    reference: Callable[..., Any] | None,
    model: str | None,
    ways: Sequence[str],
    folder: Path,
    shipment: Shipment,
) -> TripPlan:
    """What a round trip needs of what a user holds; raises `UsageError` where it can make none."""
    if isinstance(x, Package):
        return _of_package(x, args, kwargs, reference, model, shipment)
    if model is not None:
        raise UsageError(f"model={model!r} names one of several in a package: leave it out.")
    if isinstance(x, Compiled):
        return _of_compiled(x, args, kwargs, reference, ways, folder, shipment)
    if isinstance(x, Variants | LoadedVariants):
        return plan_of_variants(x, args, kwargs, reference, folder, shipment)
    if isinstance(x, CompiledBase):
        raise WorkbenchError(
            f"{x!r} cannot be called on this machine, so nothing can be timed. Compare its file "
            "with the machine that it is for: wb.check(path, machine=...)."
        )
    raise UsageError(
        f"Cannot take a {type(x).__name__} on a round trip. Pass what aot_compile, package, "
        "variants or load returned."
    )


def _of_compiled(
    compiled: Compiled,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    reference: Callable[..., Any] | None,
    ways: Sequence[str],
    folder: Path,
    shipment: Shipment,
) -> TripPlan:
    """Save the function, and torch's own file of it, into `folder`, and pack what they need.

    Raises `ArtifactError` when it cannot be saved, `UsageError` when its inputs cannot be sent.
    """
    saved_s, notes = _save(compiled, folder / "saved.aot")
    with open_any(folder / "saved.aot") as opened:
        assert opened.artifact is not None
        manifest, digest = opened.artifact.manifest, opened.digest
        classes = _classes_of_main(opened.artifact.raw(PAYLOAD))
    plan = compiled.plan
    original = choose_original(reference, compiled.original, compiled.reference_name)
    shipment.reasons[CPP] = _NO_CLIENT
    modules, functions = serializability.find_kept_outside(compiled.aot_fn)
    scope = compiled.aot_fn.fn.__globals__
    bundled = manifest.weights is not None
    inputs = shipment.inputs(
        args,
        kwargs,
        module=plan.receiver[0] if plan.receiver and not bundled else None,
        outside=modules,
        missing={**{name: scope[name] for name in manifest.missing_names}, **classes},
        compile=_how(compiled),
    )
    needing = [*NEED_ORIGINAL, *(["torch"] if plan.receiver else [])]
    call = original or (plan.receiver[0] if plan.receiver else None)
    order = {
        "kind": "function",
        "file": str(folder / "saved.aot"),
        "digest": digest,
        "inputs": inputs,
        "original": shipment.original(call, plan.receiver, needing),
        "no_grad": compiled.enters_no_grad,
        "grad": takes_grad(compiled.enters_no_grad),
        "has_receiver": bool(plan.receiver),
        "torch_file": _torch_file(compiled, folder / "torch.bin", ways, shipment.reasons),
        "aliases": dict(manifest.aliases),
        "imports": {name: place for name, (_, place) in functions.items()},
    }
    if names := ", ".join((*manifest.missing_names, *classes)):
        sentence = f"handed over at load, f_globals=, since nobody can import them: {names}"
        notes = (*notes, sentence)
    report = compiled.report
    if not len(report.members):  # with a file that was kept before it stays at that
        place = "written for a round trip and removed"
        report = with_file(report, folder / "saved.aot", place=place)
    return TripPlan(
        name=compiled.name,
        file=folder / "saved.aot",
        digest=digest,
        order=order,
        report=report,
        expected=run_expected(original, args, kwargs, compiled.module, compiled.enters_no_grad),
        reasons=shipment.reasons,
        folders=shipment.folders,
        saved_s=saved_s,
        notes=notes,
        draws_otherwise=has_other_draws(compiled),
    )


def _save(compiled: Compiled, file: Path) -> tuple[float, tuple[str, ...]]:
    """Seconds that saving took, with the weights where they can be in the file."""
    notes: tuple[str, ...] = ()
    start = time.perf_counter()
    if compiled.module is not None:
        try:
            save_compiled(compiled, file, weights="inside")
            return time.perf_counter() - start, notes
        except ArtifactError as error:
            notes = (
                f"saved without its weights, the module was handed over: {read_first_line(error)}",
            )
    start = time.perf_counter()
    save_compiled(compiled, file, weights="later")
    return time.perf_counter() - start, notes


def _classes_of_main(payload: bytes) -> dict[str, type]:
    """The classes of a script or notebook that the file refers to: no other process has them."""
    main = vars(sys.modules["__main__"])
    named = read_pickle(payload[find_pickle_start(payload) :]).all_globals()
    found = (name.partition(":")[2] for name in named if name.startswith("__main__:"))
    return {name: main[name] for name in found if isinstance(main.get(name), type)}


def _torch_file(
    compiled: Compiled, file: Path, ways: Sequence[str], reasons: dict[str, str]
) -> str | None:
    """The same function as torch itself saves it."""
    if "torch" not in ways:
        return None
    modules, functions = serializability.find_kept_outside(compiled.aot_fn)
    outside = {**modules, **{name: function for name, (function, _) in functions.items()}}
    aot_fn, _ = serializability.saveable(compiled.aot_fn, compiled.plan.guarded)
    try:
        aot_fn.save_compiled_function(str(file), external_data=outside)
    except Exception as error:  # pickle raises whatever an object's own code raises
        reasons["torch"] = f"torch cannot save it: {type(error).__name__}: {read_first_line(error)}"
        return None
    return str(file)


def _how(compiled: Compiled) -> dict[str, Any]:
    """The arguments of torch.compile that ask for the same work."""
    request = compiled.report.request
    options = {}
    for name, text in request.options:
        try:
            options[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
    how: dict[str, Any] = {"backend": request.backend, "options": options or None}
    return how if request.dynamic_shapes is None else {**how, "dynamic": True}


def _of_package(
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
    if model is None and package.manifest.are_variants:
        model = package.variant_of(*args, **kwargs).name
    packed = package.manifest.model(model)
    file = Path(package.path).resolve()
    with open_any(file) as opened:
        digest = opened.digest
        require_same(file, opened.signed is None or digest == package.digest)
    original = choose_original(reference, package.originals.get(packed.name), packed.reference)
    has_weights = packed.weights != _LATER
    order = {
        "kind": "package",
        "file": str(file),
        "digest": digest,
        "model": packed.name,
        "has_weights": has_weights,
        "inputs": shipment.inputs(args, kwargs, compile={}),
        "original": shipment.original(
            original, (), (*NEED_ORIGINAL, *(() if has_weights else ("ours", "torch", CPP)))
        ),
        "no_grad": True,
    }
    owner = original if isinstance(original, torch.nn.Module) else None
    try:
        report = package.report
    except ArtifactError:  # torch itself wrote it
        report = Report(request=Request(name=packed.name, kind="package of torch"))
    return TripPlan(
        name=packed.name if model else file.name,
        file=file,
        digest=digest,
        order=order,
        report=report,
        expected=run_expected(original, args, kwargs, owner, no_grad=True),
        reasons=shipment.reasons,
        folders=shipment.folders,
    )
