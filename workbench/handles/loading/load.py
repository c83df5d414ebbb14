"""A `Compiled` made from an `.aot` file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.artifacts.archive.file_kinds import OpenedFile
from workbench.compiler.aot_files.loaded_artifact import LoadedArtifact, load_artifact
from workbench.compiler.call_plan.plan import CallPlan
from workbench.compiler.captured_code.specialized_values import SpecializedValues
from workbench.compiler.contract.contract import Contract
from workbench.compiler.late_values.late_globals import ask
from workbench.errors import ArtifactError
from workbench.handles.base.compiled_base import LateReport
from workbench.handles.compiled import Compiled
from workbench.handles.compiled_module import wrap_compiled

if TYPE_CHECKING:
    from workbench.report import Report


def load_compiled(
    path: str | PathLike[str],
    *,
    module: Any | None,
    external_data: Mapping[str, Any] | None = None,
    f_globals: Mapping[str, Any] | None = None,
    trust: bool | str,
    check: bool = True,
    opened: OpenedFile | None = None,
) -> Compiled:
    """Open a file as a callable with the compiled function's signature (see `workbench.load`).

    `opened` is the file, if the caller has already opened it to detect its kind.
    """
    loaded = load_artifact(
        path,
        module=module,
        external_data=external_data,
        f_globals=f_globals,
        trust=trust,
        opened=opened,
    )
    receiver = loaded.module if loaded.module is not None else module
    if loaded.manifest is None:
        return _from_torch(Path(path), loaded, receiver, check)
    contract = loaded.manifest.contract
    plan = CallPlan.from_json(
        contract,
        loaded.manifest.baked,
        receiver=receiver,
        f_globals=f_globals,
        handed_over=external_data,
        dropped=loaded.manifest.guards.get("dropped", ()),
    )
    plan = replace(plan, specialized=ask(plan.specialized))
    original = receiver if plan.kind == "module" else None
    report = LateReport(contract["name"], lambda: _report(loaded, path, contract["name"]))
    compiled = wrap_compiled(loaded.callable, plan, report, original=original)
    if not check:
        compiled.disable_guard_check()
    problems = plan.specialized.mismatches({}, arguments=False, guarded=False)
    if problems:
        raise ArtifactError(
            f"{path} was compiled with different values of globals:\n  - "
            + "\n  - ".join(problems)
            + "\nRestore them, or recompile: recompile(path)."
        )
    return compiled


def _from_torch(path: Path, loaded: LoadedArtifact, receiver: Any | None, check: bool) -> Compiled:
    """A file of torch's own: its guards check the call, there is no contract and no record."""
    plan = CallPlan(
        contract=Contract(None),
        specialized=SpecializedValues(),
        state=None,
        receiver=() if receiver is None else (receiver,),
    )
    kind = "file of torch"
    report = LateReport(path.stem, lambda: _report(loaded, path, path.stem, kind))
    compiled = Compiled(loaded.callable, plan, report)
    if not check:
        compiled.disable_guard_check()
    return compiled


def _report(
    loaded: LoadedArtifact, path: str | PathLike[str], name: str, kind: str = "function"
) -> Report:
    """The record in the file, or one that says no more than what was loaded, with the file."""
    from workbench.compiler.aot_files.file_tables import add_file_later
    from workbench.report import Report, Request

    report = loaded.report or Report(request=Request(name=name, kind=kind))
    return add_file_later(report, path, loaded.digest)
