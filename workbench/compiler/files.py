"""A `Compiled` written to an `.aot` file, and one made from such a file."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler import plan_json, portable, saving
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.compiler.compiled import Compiled

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
    aot_fn, emptied = portable.saveable(compiled.aot_fn, plan.guarded)
    guards = [row for row in plan.dropped]
    return saving.save_artifact(
        path,
        aot_fn=aot_fn,
        contract_json=plan_json.to_json(plan, compiled.name),
        baked_json=plan_json.baked_to_json(plan, emptied),
        guards_json={"policy": compiled.report.request.guards, "dropped": guards},
        report=compiled.report,
        module=compiled.module,
        weights=weights,
        isa=isa,
        external_data={**_modules_inside(aot_fn), **external_data},
        target=compiled.target,
        backend=compiled.report.request.backend,
    )


def _modules_inside(aot_fn: Any) -> dict[str, Any]:
    """Modules reached through a closure or a global: they are handed back at load, by name."""
    env = aot_fn._artifacts.runtime_env
    names = env.bytecode.co_freevars
    closure = {n: c.cell_contents for n, c in zip(names, env.closure or (), strict=False)}
    found = {**env.used_globals, **closure}
    return {name: value for name, value in found.items() if isinstance(value, torch.nn.Module)}
