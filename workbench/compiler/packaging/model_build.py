"""One model in named steps: captured, compiled, tried at small sizes, described."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.artifacts.archive.package_container import REPORT_SUFFIX, encode_report
from workbench.artifacts.manifest.package_manifest import FOLDER, PackagedModel
from workbench.artifacts.manifest.records import Build
from workbench.compiler.aot_files.payload import native_build
from workbench.compiler.cold_start.compile_cache import fast_start
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.torch_state import GlobalState
from workbench.compiler.packaging.archive import Content
from workbench.compiler.packaging.compiling import Built, build, options_for, shareable
from workbench.compiler.packaging.constants import kept, placed, with_names
from workbench.compiler.packaging.contracts import ExportedContract, contract_of
from workbench.compiler.packaging.diagnosis import explain_compile
from workbench.compiler.packaging.exporting import Exportable, Exported, export, exportable
from workbench.compiler.packaging.outputs import check_inputs, outputs_of
from workbench.compiler.packaging.request import LATER, ModelRequest
from workbench.compiler.packaging.trials import tried
from workbench.compiler.pipeline.modes import merged_options
from workbench.compiler.recording.capture import Recorder
from workbench.errors import WorkbenchError
from workbench.processes.messages import ProgressCallback
from workbench.report import Outcome, Report, Request

CODE_FOLDER = "data/aotinductor"


@dataclass(frozen=True)
class Packed:
    """One model as the manifest lists it, with the members that belong to it."""

    model: PackagedModel
    members: Mapping[str, Content]
    report: Report


@dataclass
class _Run:
    """What the steps hand to one another."""

    found: Exportable
    options: Mapping[str, Any]
    recorder: Recorder
    step: str = "prepare"
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


def pack(request: ModelRequest, folder: Path, progress: ProgressCallback | None = None) -> Packed:
    """Capture and compile one model, recording every step.

    Raises `UsageError` for a request that cannot be and `CaptureError` for a model that cannot be
    packaged; the report of what was done until then is on the exception.
    """
    found = exportable(request)
    chosen, notes = merged_options("inductor", request.mode, request.options)
    recorder = Recorder(level=request.capture, request=_request(found, chosen, notes))
    recorder.tell(progress)
    run = _Run(found, options_for(request.weights, chosen), recorder, notes=list(notes))
    try:
        with tp.COMPILE_LOCK.get(), fast_start(), recorder:
            with _step(run, "export"):
                exported = export(found)
                recorder.graphs.keep_exported(exported.program.graph_module)
                check_inputs(found, exported.program)
                outputs_of(exported.program)
            with _step(run, "compile"):
                built = build(exported.program, run.options, folder, any_size=exported.any_size)
            with _step(run, "contract"):
                contract = _contract(run, exported, built)
            isa = native_build()
    except BaseException as error:
        shown = _recorded(error, run)
        if shown is error:
            raise
        raise shown from error
    report = _report(run, exported, contract, Outcome())
    return _packed(run, exported, built, contract, report, isa)


@contextmanager
def _step(run: _Run, name: str) -> Iterator[None]:
    run.step = name
    run.recorder.phases.mark(f"package: {name}", is_begin=True)
    try:
        yield
    finally:
        run.recorder.phases.mark(f"package: {name}", is_begin=False)


def _request(found: Exportable, chosen: Mapping[str, Any], notes: tuple[str, ...]) -> Request:
    asked, state = found.request, GlobalState.current()
    return Request(
        name=found.title,
        kind="package",
        mode=asked.mode,
        options=tuple((name, repr(value)) for name, value in sorted(chosen.items())),
        grad=False,
        autocast=state.autocast,
        training=found.module.training,
        guards="contract",
        capture=asked.capture,
        dynamic_shapes=None if asked.dynamic_shapes is None else str(asked.dynamic_shapes),
        notes=notes,
    )


def _contract(run: _Run, exported: Exported, built: Built) -> ExportedContract:
    run.notes += exported.notes
    contract = contract_of(exported.program, run.found.inputs, run.found.declared)
    built = replace(built, assumed=tuple(contract.names.shown(text) for text in built.assumed))
    contract, notes = tried(run.found, exported, built, contract)
    run.extra["assumed_while_compiling"] = list(built.assumed)
    for note in notes:
        warnings.warn(f"{run.found.title}: {note}", stacklevel=2)
    run.notes += notes
    run.notes += [f"torch assumes {guard}, which no check holds" for guard in contract.unsaid]
    return contract


def _report(run: _Run, exported: Exported, contract: ExportedContract, outcome: Outcome) -> Report:
    leaves = [leaf for leaf in contract.contract.leaves or () if leaf.kind == "tensor"]
    inputs = tuple(f"{leaf.path}: {leaf.text}" for leaf in leaves)
    asked = replace(run.recorder.request, notes=tuple(run.notes), inputs=inputs)
    run.recorder.request = asked
    report = run.recorder.report(outcome)
    facts = {
        "range_constraints": {name: list(bounds) for name, bounds in contract.ranges.items()},
        "shape_guards": list(contract.guards),
        "graph_signature": str(exported.program.graph_signature),
        "weights": run.found.request.weights,
        **run.extra,
    }
    return replace(report, extra={**report.extra, "package": facts})


def _recorded(error: BaseException, run: _Run) -> BaseException:
    """The error for the user, with the report of what was done until then."""
    words = str(error).strip().split("\n")[0]
    if not isinstance(error, Exception):
        words = words or ("interrupted" if isinstance(error, KeyboardInterrupt) else repr(error))
    outcome = Outcome(ok=False, step=run.step, error=words)
    run.recorder.request = replace(run.recorder.request, notes=tuple(run.notes))
    report = run.recorder.report(outcome)
    shown = error
    if isinstance(error, Exception) and not isinstance(error, WorkbenchError):
        shown = explain_compile(error, run.found.title)
    shown.report = report  # type: ignore[attr-defined]
    return shown


def _members(built: Built, folder: str, more: Mapping[str, Content]) -> dict[str, Content]:
    files = built.files.items()
    return {**{f"{folder}/{name}": shareable(file) for name, file in files}, **more}


def _packed(
    run: _Run,
    exported: Exported,
    built: Built,
    contract: ExportedContract,
    report: Report,
    isa: Build,
) -> Packed:
    request, program = run.found.request, exported.program
    folder = f"{CODE_FOLDER}/{request.name}"
    page = f"{FOLDER}/{request.name}{REPORT_SUFFIX}"
    members = _members(built, folder, {page: encode_report(report.to_bytes())})
    blob = built.named("_weights.blob")
    place = None if blob is None else f"{folder}/{blob}"
    constants = placed(with_names(built.library.constants, program), place)
    if request.weights == LATER:
        rest = f"{folder}/{request.name}.constants"
        constants, content = kept(built.library, constants, program, rest)
        members.update({rest: content} if content else {})
    leaves = contract.contract.leaves or ()
    dumps = tp.TREESPEC_DUMPS.get()
    model = PackagedModel(
        name=request.name,
        device=built.library.device,
        folder=folder,
        library=f"{folder}/{built.named('.so')}",
        contract=contract.to_json(),
        parameters=run.found.inputs.parameters,
        inputs=tuple(str(leaf.path) for leaf in leaves if leaf.kind == "tensor"),
        outputs=outputs_of(program, contract.names),
        in_spec=dumps(program.call_spec.in_spec),
        out_spec=dumps(program.call_spec.out_spec),
        constants=constants,
        weights=request.weights,
        needs_proxy=built.library.needs_proxy,
        report=page,
        bucket=request.bucket,
        isa=isa,
    )
    return Packed(model, members, report)
