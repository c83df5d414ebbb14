"""A `Compiled` written to an `.aot` file."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.compiler.aot_files import saving, serializability
from workbench.compiler.aot_files.file_tables import without_file
from workbench.compiler.aot_files.saving import WEIGHTS
from workbench.compiler.contract.request import one_of
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.handles.compiled import Compiled


def save_compiled(
    compiled: Compiled,
    path: str | PathLike[str],
    *,
    weights: str,
    isa: str | list[str],
    external_data: Mapping[str, Any],
) -> str:
    """Write one artifact and return its digest; see `Compiled.save`."""
    one_of("weights", weights, WEIGHTS)
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
            **plan.to_json(compiled.report.request),
            "imports": {name: place for name, (_, place) in functions.items()},
        },
        specialized_json=plan.specialized_to_json(emptied),
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
