"""Takes the program of a compilation apart, in the worker."""

from __future__ import annotations

from dataclasses import replace

from workbench.compiler import plan_json, portable
from workbench.compiler.compiled import Compiled
from workbench.compiler.payload import freeze
from workbench.compiler.targets.program import NoProgram, Program
from workbench.errors import WorkbenchError
from workbench.specs import Gpu


def program_of(compiled: Compiled, gpu: Gpu) -> Program | NoProgram:
    """The frozen program of a compilation in this process, which was made for `gpu`."""
    plan = compiled.plan
    request = replace(compiled.report.request, target=gpu.name)
    try:
        aot_fn, emptied = portable.saveable(compiled.aot_fn, plan.guarded)
        modules, functions = portable.kept_outside(aot_fn)
        outside = {**modules, **{name: function for name, (function, _) in functions.items()}}
        frozen = freeze(aot_fn, outside)
    except WorkbenchError as error:
        return NoProgram(str(error))
    except Exception as error:  # the report of a compilation that worked is not to be lost
        return NoProgram(
            f"The compiled code cannot be taken apart: {type(error).__name__}: {error}"
        )
    return Program(
        frozen=frozen,
        contract={
            **plan_json.to_json(plan, request),
            "imports": {name: place for name, (_, place) in functions.items()},
        },
        baked=tuple(plan_json.baked_to_json(plan, emptied)),
        guards={"policy": request.guards, "dropped": list(plan.dropped)},
    )
