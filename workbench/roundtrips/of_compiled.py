"""A compiled function made ready for a round trip: written to a file that is removed again."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.artifacts.archive.container import PAYLOAD
from workbench.artifacts.archive.file_kinds import open_any, pickle_start
from workbench.artifacts.inspect.opcodes import read_pickle
from workbench.compiler.aot_files import serializability
from workbench.compiler.aot_files.file_tables import with_file
from workbench.errors import ArtifactError, WorkbenchError, first_line
from workbench.handles.compiled import Compiled
from workbench.handles.save import save_compiled
from workbench.report import Report
from workbench.roundtrips.subject import Shipment, TripPlan, expected_of, original_of

_NEED_ORIGINAL = ("eager", "compile_cold", "compile_warm")


def subject_of(
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
    original = original_of(reference, compiled.original, compiled.reference_name)
    modules, functions = serializability.kept_outside(compiled.aot_fn)
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
    needing = [*_NEED_ORIGINAL, *(["torch"] if plan.receiver else [])]
    call = original or (plan.receiver[0] if plan.receiver else None)
    order = {
        "file": str(folder / "saved.aot"),
        "digest": digest,
        "inputs": inputs,
        "original": shipment.original(call, plan.receiver, needing),
        "no_grad": compiled.enters_no_grad,
        "has_receiver": bool(plan.receiver),
        "torch_file": _torch_file(compiled, folder / "torch.bin", ways, shipment.reasons),
        "aliases": dict(manifest.aliases),
        "imports": {name: place for name, (_, place) in functions.items()},
    }
    return TripPlan(
        name=compiled.name,
        file=folder / "saved.aot",
        digest=digest,
        order=order,
        report=_report(compiled, folder / "saved.aot"),
        expected=expected_of(original, args, kwargs, compiled.module, compiled.enters_no_grad),
        reasons=shipment.reasons,
        folders=shipment.folders,
        saved_s=saved_s,
        notes=(*notes, *_handed_over((*manifest.missing_names, *classes))),
    )


def _report(compiled: Compiled, file: Path) -> Report:
    """The report with what the file is; with one that was kept before it stays at that."""
    if len(compiled.report.members):
        return compiled.report
    return with_file(compiled.report, file, place="written for a round trip and removed")


def _save(compiled: Compiled, file: Path) -> tuple[float, tuple[str, ...]]:
    """Seconds that saving took, with the weights where they can be in the file."""
    notes: tuple[str, ...] = ()
    start = time.perf_counter()
    if compiled.module is not None:
        try:
            save_compiled(compiled, file, weights="bundle", isa="native", external_data={})
            return time.perf_counter() - start, notes
        except ArtifactError as error:
            notes = (f"saved without its weights, the module was handed over: {first_line(error)}",)
    start = time.perf_counter()
    save_compiled(compiled, file, weights="separate", isa="native", external_data={})
    return time.perf_counter() - start, notes


def _classes_of_main(payload: bytes) -> dict[str, type]:
    """The classes of a script or notebook that the file refers to: no other process has them."""
    main = vars(sys.modules["__main__"])
    named = read_pickle(payload[pickle_start(payload) :]).all_globals()
    found = (name.partition(":")[2] for name in named if name.startswith("__main__:"))
    return {name: main[name] for name in found if isinstance(main.get(name), type)}


def _handed_over(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    return (f"handed over at load, f_globals=, since nobody can import them: {', '.join(names)}",)


def _torch_file(
    compiled: Compiled, file: Path, ways: Sequence[str], reasons: dict[str, str]
) -> str | None:
    """The same function as torch itself saves it."""
    if "torch" not in ways:
        return None
    modules, functions = serializability.kept_outside(compiled.aot_fn)
    outside = {**modules, **{name: function for name, (function, _) in functions.items()}}
    aot_fn, _ = serializability.saveable(compiled.aot_fn, compiled.plan.guarded)
    try:
        aot_fn.save_compiled_function(str(file), external_data=outside)
    except Exception as error:  # pickle raises whatever an object's own code raises
        reasons["torch"] = f"torch cannot save it: {type(error).__name__}: {first_line(error)}"
        return None
    return str(file)


def _how(compiled: Compiled) -> dict[str, Any]:
    """The arguments of torch.compile that ask for the same work."""
    request = compiled.report.request
    how: dict[str, Any] = {"backend": request.backend}
    if request.dynamic_shapes is not None:
        how["dynamic"] = True
    options = {}
    for name, text in request.options:
        try:
            options[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
    return {**how, **({"options": options} if options else {})}


def refuse_cross_compiled(x: Any) -> WorkbenchError:
    """Why what was compiled for a machine that is not here makes no round trip."""
    return WorkbenchError(
        f"{x!r} cannot be called on this machine, so nothing can be timed. Compare its file with "
        "the machine that it is for: wb.check(path, machine=...)."
    )
