"""A trial of a call of compiled code: what it can write to, and the random numbers it draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from workbench.compiler.call_state.reachable import Root
from workbench.compiler.comparison.judgement import Tolerance
from workbench.compiler.comparison.trial import DRAWN, CallInputs, Trial
from workbench.compiler.internals import torch_private as tp

if TYPE_CHECKING:
    from workbench.handles.base.checked_call import CheckedCall
    from workbench.report import Report


def try_call(
    original: Callable[..., Any],
    compiled: CheckedCall,
    inputs: CallInputs,
    *,
    original_inputs: CallInputs | None = None,
    made: Callable[..., Any] | None = None,
    tolerance: Tolerance | None = None,
) -> Trial:
    """Create a trial that compares compiled code, or its replacement `made`, with eager.

    `original_inputs` are the inputs for eager if the compiled code takes different ones, such as
    cast inputs.
    """
    return Trial.of(
        compiled if made is None else made,
        original,
        inputs,
        entry=compiled.original,
        roots=[*list_roots(compiled)],
        original_inputs=original_inputs,
        gradients=made is not None or not compiled.enters_no_grad,
        tolerance=tolerance,
        drawn=DRAWN if has_other_draws(compiled.report) else "",
    )


def list_roots(compiled: CheckedCall) -> Iterator[Root]:
    """List the objects that a call may modify: its module, function or closure cells."""
    if compiled.module is not None:
        yield "", compiled.module
    yield from (("", owner) for owner in compiled.plan.receiver)
    if compiled.original is not None:
        yield "", compiled.original
        return
    env = tp.artifacts_of(compiled.aot_fn).runtime_env
    cells = zip(env.bytecode.co_freevars, env.closure or (), strict=False)
    yield from ((name, cell.cell_contents) for name, cell in cells if _is_filled(cell))


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def has_other_draws(report: Report) -> bool:
    """Return whether generated code and eager draw different random numbers from the same state."""
    request = report.request
    options = {name.replace("-", "_"): value for name, value in request.options}
    return request.backend == "inductor" and options.get("fallback_random") != "True"
