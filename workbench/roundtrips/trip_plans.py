"""What a user holds, of each kind, made ready for a round trip: its file, inputs, original."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from workbench.artifacts.archive.aot_container import PAYLOAD
from workbench.artifacts.archive.file_kinds import (
    FUNCTION,
    PACKAGE,
    VARIANTS,
    find_pickle_start,
    open_any,
)
from workbench.artifacts.inspect.opcodes import read_pickle
from workbench.compiler.aot_files.file_tables import with_file
from workbench.compiler.aot_files.variants.recorded_variants import target_of
from workbench.compiler.aot_files.variants.variant_files import read_noted
from workbench.compiler.aot_files.writing.saveable import Saveable
from workbench.compiler.captured_code.specialized_values import find_importable_name
from workbench.compiler.internals import torch_private as tp
from workbench.errors import ArtifactError, UsageError, WorkbenchError, read_first_line
from workbench.handles.compiled import Compiled
from workbench.handles.cross_compiled import CrossCompiled
from workbench.handles.loading.frame_variants import LoadedVariants, Variants
from workbench.handles.packages.package import Package
from workbench.handles.running.verify import has_other_draws
from workbench.handles.saving.save import save_compiled
from workbench.report import Report, Request
from workbench.report.file_rows import CPP
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
_NO_CLIENT = "only packages have a C++ client: wb.package(model, args, path=...)"
_NO_LOADER = "torch has no loader for a function with graph breaks"
_IN_PYTHON = "code with graph breaks runs in Python; only packages have a C++ client"
_NO_NAME = (
    "no other process can import {name}: it or its class is defined in a script, a notebook or "
    "another function. Move it into a module"
)


def plan_trip(
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
        raise UsageError(f"model={model!r} is only for packages with several models: leave it out.")
    if isinstance(x, Compiled):
        return _of_compiled(x, args, kwargs, reference, ways, folder, shipment)
    if isinstance(x, Variants | LoadedVariants):
        return _of_variants(x, args, kwargs, reference, folder, shipment)
    if isinstance(x, CrossCompiled):
        raise WorkbenchError(
            f"{x!r} cannot be called on this machine, so nothing can be timed. Compare the file "
            "with its target machine: wb.check(path, machine=...)."
        )
    raise UsageError(
        f"wb.roundtrip does not support a {type(x).__name__}. Pass the result of aot_compile, "
        "package, variants or load."
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
    saveable = Saveable.of(compiled.aot_fn, plan.guarded)
    scope = compiled.aot_fn.fn.__globals__
    bundled = manifest.weights is not None
    missing = {**{name: scope[name] for name in manifest.missing_names}, **classes}
    inputs = shipment.inputs(
        args,
        kwargs,
        outside=saveable.modules,
        missing=missing,
        load={
            "module": plan.receiver[0] if plan.receiver and not bundled else None,
            "external_data": saveable.modules,
            "f_globals": missing or None,
        },
        compile=_how(compiled),
    )
    needing = [*NEED_ORIGINAL, *(["torch"] if plan.receiver else [])]
    call = original or (plan.receiver[0] if plan.receiver else None)
    order = {
        "kind": FUNCTION,
        "file": str(folder / "saved.aot"),
        "digest": digest,
        "inputs": inputs,
        "original": shipment.original(call, plan.receiver, needing),
        "no_grad": compiled.enters_no_grad,
        "grad": takes_grad(compiled.enters_no_grad),
        "has_receiver": bool(plan.receiver),
        "torch_file": _torch_file(saveable, folder / "torch.bin", ways, shipment.reasons),
        "aliases": dict(manifest.aliases),
        "imports": saveable.imports,
    }
    if names := ", ".join((*manifest.missing_names, *classes)):
        sentence = f"not importable, so passed in f_globals= when loading: {names}"
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
        draws_otherwise=has_other_draws(compiled.report),
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
                f"saved without weights ({read_first_line(error)}): the module was passed at load",
            )
    start = time.perf_counter()
    save_compiled(compiled, file, weights="later")
    return time.perf_counter() - start, notes


def _classes_of_main(payload: bytes) -> dict[str, type]:
    """The classes of a script or notebook that the file refers to: no other process has them."""
    main = vars(sys.modules["__main__"])
    named = read_pickle(payload[find_pickle_start(payload) :]).all_globals()
    names = (name.partition(":")[2] for name in named if name.startswith("__main__:"))
    return {name: main[name] for name in names if isinstance(main.get(name), type)}


def _torch_file(
    saveable: Saveable, file: Path, ways: Sequence[str], reasons: dict[str, str]
) -> str | None:
    """The same function as torch itself saves it."""
    if "torch" not in ways:
        return None
    try:
        saveable.aot_fn.save_compiled_function(str(file), external_data=saveable.outside)
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
        "kind": PACKAGE,
        "file": str(file),
        "digest": digest,
        "model": packed.name,
        "part": packed.name if len(package.names) > 1 else None,
        "has_weights": has_weights,
        "inputs": shipment.inputs(args, kwargs, load={"module": None}, compile={}),
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


def _of_variants(
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
        noted = () if opened.manifest is None else read_noted(opened.manifest)
    require_same(file, not isinstance(variants, LoadedVariants) or digest == variants.digest)
    shipment.reasons.update({"torch": _NO_LOADER, CPP: _IN_PYTHON})
    fn = variants.fn
    if not _can_be_imported(fn):
        shipment.reasons["ours"] = _NO_NAME.format(name=variants.name)
    original = reference or fn
    order = {
        "kind": VARIANTS,
        "file": str(file),
        "digest": digest,
        "inputs": shipment.inputs(
            args, kwargs, load={"on_miss": "error"}, compile={"fullgraph": False}
        ),
        "original": shipment.original(original, (), NEED_ORIGINAL),
        # what a library noted down when the module was made; there it is only unpickled
        "module": shipment.original(fn, (), ("ours",), noted=noted),
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
