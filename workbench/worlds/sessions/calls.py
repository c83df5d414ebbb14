"""`wb.session`: what runs under plain torch.compile is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from workbench.arguments import checked
from workbench.host import require_torch

if TYPE_CHECKING:
    from workbench.worlds.sessions.handles.live_session import LiveSession

__all__ = ["session"]


@require_torch
@checked
def session(
    capture: Literal["light", "full"] = "light",
    steps: Literal["optimizer"] | None = None,
    *,
    profile: bool = False,
) -> LiveSession:
    """Record the activity of plain torch.compile in a running program.

    Use the session in a `with` statement around any block of code, or call `start()` and `stop()`.
    It observes all threads of the process, without environment variables or a restart, and removes
    its hooks when it ends. Code compiled before the session starts is counted in `regions` under an
    empty `compile_id`.

    Parameters
    ----------
    capture
        "light" leaves torch's caches on, so reports lack the steps that a cache hit skips. "full"
        recompiles everything for complete reports.
    steps
        None ends a step at each call of `step()`, or at each item of `steps(loader)`. "optimizer"
        ends a step at each optimizer step.
    profile
        Whether to run torch's profiler during the session. `.profile` then holds the result of
        `read_profile`, for the GPU or, on a machine without one, for CPU operators. Profiling makes
        the session's steps slower.

    Returns
    -------
    LiveSession
        `frame(name)` returns one of the following tables. `compiles`: id, function, file, line,
        step, at_s, kind, thread, total_s, dynamo_s, backend_s, codegen_s, guards, ops, breaks,
        outcome, cache, why, has_report, inputs, caught. `recompiles`: compile_id, function, step,
        against, nearest, guard, kind, source, expected, actual, variants, cost_s, file, line, also,
        is_last_batch, fixed_by, resumed_at, changed_at, changed_by, changed_in, suspects, set_by,
        made_by, called_by, called_as, is_of_module, writes, tried. `breaks`: file, line, function,
        text, kind, reason, hints, count, compile_ids, first_step, cost_s, within, ops_before,
        ops_after. `fallbacks`: function, file, line, compile_id, step, how, why, eager_calls.
        `regions`, for Inductor graphs: compile_id, function, is_backward, calls, total_ms, mean_us,
        first_us, inputs. `steps`: step, at_s, wall_ms, compile_s, graph_calls, in_graphs_ms,
        outside_ms, events. `events`: step, at_s, kind, compile_id, function, text, cost_s.

        `advice` has recommendations as sentences. `report(3)` or `report("0/1")` returns the report
        of one compile, including its backward pass.

    Raises
    ------
    UsageError
        Another session is already recording in this process.

    Examples
    --------
    >>> with wb.session() as s:
    ...     for batch in s.steps([torch.ones(4), torch.ones(6)]):
    ...         _ = torch.compile(f)(batch)
    >>> s
    Session(2 compiles, 1 recompile, 0 breaks, 0 fallbacks, 2 steps)
    """
    from workbench.worlds.sessions.handles.live_session import LiveSession

    return LiveSession(capture, steps, profile=profile)
