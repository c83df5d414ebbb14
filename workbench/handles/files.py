"""A `Compiled` written to an `.aot` file, and one made from such a file."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from workbench.artifacts.archive.container import read_artifact
from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.archive.regular_file import open_file
from workbench.compiler.aot_files import saving, serializability
from workbench.compiler.aot_files.file_tables import with_file_later, without_file
from workbench.compiler.aot_files.loading import LoadedArtifact, load_artifact
from workbench.compiler.contract import plan_json
from workbench.compiler.contract.contract import Contract
from workbench.compiler.contract.plan import CallPlan
from workbench.compiler.contract.specialized_values import BakedValues
from workbench.compiler.packaging.repackage_command import how_to_package_again
from workbench.errors import ArtifactError, UsageError
from workbench.handles.compiled import Compiled
from workbench.report import Report, Request

if TYPE_CHECKING:
    from workbench.handles.cross_compiled import CompiledElsewhere

WEIGHTS = ("separate", "bundle")


def save_compiled(
    compiled: Compiled,
    path: str | PathLike[str],
    *,
    weights: str,
    isa: str | list[str],
    external_data: Mapping[str, Any],
) -> str:
    """Write one artifact and return its digest; see `Compiled.save`."""
    if weights not in WEIGHTS:
        raise UsageError(f"weights is {weights!r}: expected 'separate' or 'bundle'.")
    if weights == "bundle" and compiled.module is None:
        raise UsageError(
            f"weights='bundle' needs a module; {compiled.name} is a {compiled.report.request.kind}."
        )
    plan = compiled.plan
    aot_fn, emptied = serializability.saveable(compiled.aot_fn, plan.guarded)
    modules, functions = serializability.kept_outside(aot_fn)
    return saving.save_artifact(
        path,
        aot_fn=aot_fn,
        contract_json={
            **plan_json.to_json(plan, compiled.report.request),
            "imports": {name: place for name, (_, place) in functions.items()},
        },
        baked_json=plan_json.baked_to_json(plan, emptied),
        guards_json={"policy": compiled.report.request.guards, "dropped": list(plan.dropped)},
        report=without_file(compiled.report),
        module=compiled.module,
        weights=weights,
        isa=isa,
        external_data={
            **modules,
            **{name: function for name, (function, _) in functions.items()},
            **external_data,
        },
        target=compiled.target,
        backend=compiled.report.request.backend,
    )


def load_compiled(
    path: str | PathLike[str],
    *,
    module: Any | None,
    external_data: Mapping[str, Any] | None,
    f_globals: Mapping[str, Any] | None,
    trust: bool | str,
) -> Compiled:
    """Open a file as something that is called like the original; see `workbench.load`."""
    loaded = load_artifact(
        path, module=module, external_data=external_data, f_globals=f_globals, trust=trust
    )
    receiver = loaded.module if loaded.module is not None else module
    if loaded.manifest is None:
        return _from_torch(Path(path), loaded, receiver)
    contract = loaded.manifest.contract
    plan = plan_json.from_json(
        contract,
        loaded.manifest.baked,
        receiver=receiver,
        f_globals=f_globals,
        handed_over=tuple(external_data or ()),
    )
    report = loaded.report or Report(request=Request(name=contract["name"]))
    original = receiver if plan.kind == "module" else None
    report = with_file_later(report, path, loaded.digest)
    compiled = Compiled(loaded.callable, plan, report, original=original)
    problems = plan.baked.mismatches({}, arguments=False)
    if problems:
        raise ArtifactError(
            f"{path} was compiled with other values of globals:\n  - "
            + "\n  - ".join(problems)
            + "\nRestore them, or compile again: recompile(path)."
        )
    return compiled


def _from_torch(path: Path, loaded: LoadedArtifact, receiver: Any | None) -> Compiled:
    """A file of torch's own: its guards check the call, there is no contract and no record."""
    plan = CallPlan(
        contract=Contract(None),
        baked=BakedValues(),
        state=None,
        receiver=() if receiver is None else (receiver,),
    )
    report = Report(request=Request(name=path.stem, kind="file of torch"))
    report = with_file_later(report, path, loaded.digest)
    return Compiled(loaded.callable, plan, report)


def recompile(path: str | PathLike[str], module: Any | None = None) -> Compiled | CompiledElsewhere:
    """Compile again, on this torch, what a file was made from; nothing from it is executed.

    What was compiled for a GPU that was not there is compiled for it again.

    Raises `ArtifactError` when the original has no importable name and no module is given, and
    `UsageError` for a package, with the call that makes it again.
    """
    from workbench.compiler.contract.examples import dynamic_shapes_of, inputs_of
    from workbench.compiler.contract.request import Options
    from workbench.compiler.contract.specialized_values import resolve
    from workbench.handles.dispatch import compile_anywhere

    with open_any(path) as opened:
        if opened.package is not None:
            raise UsageError(how_to_package_again(fspath(path), opened.package))
    with open_file(path) as file:
        stored = read_artifact(file).manifest.contract
    target = module
    if target is None:
        if stored["receiver"] is not None or stored["reference"] is None:
            raise ArtifactError(
                f"{stored['name']} cannot be imported by name. Pass it: recompile(path, "
                "module=the module or function)."
            )
        target = resolve(stored["reference"])
    contract = Contract.from_json(stored["inputs"])
    request = {**stored["request"]}
    request["options"] = {n: ast.literal_eval(v) for n, v in request["options"]}
    options = Options(**request, dynamic_shapes=dynamic_shapes_of(contract))
    inputs = inputs_of(contract, "meta" if options.gpu else None)
    args, kwargs = _as_call(target, inputs)
    return compile_anywhere(target, args, kwargs, options)


def _as_call(target: Any, inputs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Inputs by parameter name as positional and keyword arguments."""
    function = target.forward if isinstance(target, torch.nn.Module) else target
    parameters = inspect.signature(function).parameters
    stars = [n for n, p in parameters.items() if p.kind is inspect.Parameter.VAR_POSITIONAL]
    extra = [n for n, p in parameters.items() if p.kind is inspect.Parameter.VAR_KEYWORD]
    args = [v for name in stars for v in inputs.pop(name, [])]
    spread = {k: v for name in extra for k, v in inputs.pop(name, {}).items()}
    if args:
        named = [n for n in parameters if n in inputs and parameters[n].kind.value <= 1]
        args = [*[inputs.pop(name) for name in named], *args]
    return tuple(args), {**inputs, **spread}
