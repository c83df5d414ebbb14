"""Asks about the numbers of what was compiled, packaged or loaded; what was loaded is asked here.

Other rooms import the questions about compiled code from here, too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from workbench.analysis.diff.report_comparison import is_same_code
from workbench.compiler.call_state.call_leaves import copy_all_inputs
from workbench.handles.base.compiled_base import CompiledBase
from workbench.report import Report
from workbench.tasks.progress_events import ProgressCallback, step
from workbench.worlds.numerics.computing.microscope import look_at_outputs
from workbench.worlds.numerics.findings.numerics_record import Numerics
from workbench.worlds.numerics.questions.live_numerics import LiveNumerics as LiveNumerics
from workbench.worlds.numerics.questions.live_numerics import compare_numbers as compare_numbers
from workbench.worlds.numerics.questions.live_numerics import find_own_inputs as find_own_inputs
from workbench.worlds.numerics.questions.live_numerics import look_at_numbers as look_at_numbers
from workbench.worlds.numerics.questions.live_numerics import minify as minify
from workbench.worlds.numerics.questions.live_numerics import say_cause as say_cause
from workbench.worlds.numerics.questions.live_numerics import watch_numbers
from workbench.worlds.numerics.questions.minified import Minified as Minified

_KERNELS = (
    "kernels: {} has no graphs, and compiling {} here gives different code, so only outputs were "
    "compared"
)
_SAME = "The file has no graphs; compiling {} here gave the same code, which was checked."


def look_at_loaded(
    loaded: Any,
    name: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    compile: Callable[[dict[str, Any]], CompiledBase],
    progress: ProgressCallback | None = None,
) -> Numerics:
    """The outputs of a file beside its reference, in float64 too; its kernels by the same code.

    `compile` compiles the reference, called `name`, with options of Inductor: where that gives the
    code of the file, every kernel of it is looked at. Raises `UsageError` and `ContractError` as
    `look_at_numbers` does.
    """
    report = loaded.report
    with step(progress, f"compiling {name} to get its graphs"):
        compiled = compile(_read_options(report))
    if isinstance(loaded, CompiledBase) and is_same_code(report, compiled.report):
        numerics = look_at_numbers(compiled, args, kwargs, progress)
        return replace(numerics, notes=(_SAME.format(name), *numerics.notes))
    with watch_numbers(compiled, args, kwargs, progress) as (program, _):
        copied, named = copy_all_inputs(args, kwargs, ())
        with step(progress, "running the file"), torch.no_grad():
            outputs = loaded(*copied, **named)
        found_outputs = look_at_outputs(program, outputs)
    why = _KERNELS.format("the file", name)
    return Numerics(
        compiled.report,
        (),
        found_outputs.stages,
        found_outputs.outputs,
        compared=found_outputs.compared,
        not_compared=(why,),
        threads=torch.get_num_threads(),
        unlike=found_outputs.unlike,
    )


def _read_options(report: Report) -> dict[str, Any]:
    """The options of Inductor that a record names, but for those whose value it only describes."""
    options = {}
    for name, text in report.request.options:
        try:
            options[name] = ast.literal_eval(str(text))
        except (ValueError, SyntaxError):
            continue
    return options
