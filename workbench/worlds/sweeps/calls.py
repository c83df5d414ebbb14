"""`wb.sweep`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.host import require_torch

if TYPE_CHECKING:
    from workbench.report.trials import Trial
    from workbench.worlds.sweeps.sweep import Sweep

__all__ = ["sweep"]


@require_torch
@checked
def sweep(
    fn: Callable[..., Any],
    args: tuple[Any, ...] | Callable[..., tuple[Any, ...]],
    kwargs: Mapping[str, Any] | None = None,
    *,
    over: Mapping[str, Sequence[Any]],
    executor: Executor | None = None,
    store: str | PathLike[str] | None = None,
    strategy: str = "grid",
    objective: str = "latency",
    trials: int | None = None,
    seconds: float | None = None,
    jobs: int | None = None,
    timeout_s: float = 600.0,
    memory_bytes: int | None = None,
    compile_only: bool = False,
    spread: float = 0.01,
    measure_s: float = 3.0,
    rtol: float | None = None,
    atol: float | None = None,
    progress: Callable[[Trial, bool], None] | None = None,
) -> Sweep:
    """Compile and measure a function under many configurations.

    Each configuration is compiled in its own process, compared with eager, and timed against it in
    interleaved pairs. If one fails, crashes, hangs or runs out of memory, its row has the reason.
    Earlier measurements of the same code on the same machine come from the store.

    Parameters
    ----------
    args
        The example inputs, or a function that creates them from the sizes in `over`, such as
        `lambda batch: (torch.randn(batch, 64),)`.
    over
        The values of each axis: `mode`, `backend`, `dtype`, `threads`, `dynamic` (True, False),
        `target`, an Inductor option by its name, or a size that `args` takes. A `target` is a name
        in `targets()`; its figures are modelled, not timed. Axes for kernels are
        `max_autotune_gemm_backends` ("ATEN,CPP") and `template` (a regular expression for names of
        the autotuner's choices). For virtual GPUs, Triton parameters also work: `XBLOCK`,
        `num_warps`, `k0.num_stages`, ….
    executor
        Where trials run: any concurrent.futures.Executor, such as Dask's `client.get_executor()`.
        Default: this machine.
    store
        An SQLite file, by default in the user's cache folder.
    strategy, objective, trials, seconds
        "grid" tries every configuration. "random", "halving" and "tpe" (by Optuna) search within a
        budget of trials or seconds. They optimize "latency", "throughput", "first_call" or
        "memory".
    jobs
        How many trials run at a time. Compilations run in parallel, measurements one at a time.
    timeout_s, memory_bytes
        Limits of one trial.
    compile_only
        Run nothing, and report only compile times, kernels and traffic.
    spread, measure_s
        Measure until half the width of the 99.9 % interval is this share of the median, or until
        this many seconds have passed.
    rtol, atol
        The tolerance against eager, instead of the dtype's default.
    progress
        Called with each row and whether the row came from the store. Its method `started`, if it
        has one, is first called with the running sweep. Any thread may call the sweep's `.so_far()`
        and `.cancel()`.

    Raises
    ------
    UsageError
        An axis or a value is unknown; the error names the nearest match.
    KeyboardInterrupt
        The sweep was interrupted. The exception's attribute `sweep` has the finished trials, which
        are also in the store.

    Examples
    --------
    >>> wb.sweep(f, (x,), over={"mode": ["default", "max-autotune"]}, measure_s=0.1)
    Sweep(f over mode (2): 2 done)
    """
    from workbench.compiler.pairs.paired_rounds import Patience
    from workbench.worlds.sweeps.entry import Wanted, run_sweep
    from workbench.worlds.sweeps.trials.strategies import Budget, Plan, Search

    workers = jobs or (1 if executor is None else 4)
    return run_sweep(
        fn,
        args,
        kwargs,
        Wanted(
            over=over,
            executor=executor,
            store=store,
            search=Search(strategy, Budget(trials, seconds), objective, workers),
            jobs=jobs,
            plan=Plan(
                Patience(spread, measure_s), timeout_s, memory_bytes, compile_only, rtol, atol
            ),
            on_trial=progress,
        ),
    )
