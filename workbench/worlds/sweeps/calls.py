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
    """Compile and measure a function in many configurations.

    Each configuration is compiled in its own process, compared with eager, and timed against eager
    in interleaved pairs. If a configuration fails, crashes, hangs or runs out of memory, its row
    has the reason. Earlier measurements of the same code on the same machine are reused from the
    store.

    Parameters
    ----------
    args
        The example inputs, or a function that creates them from the sizes in `over`, such as
        `lambda batch: (torch.randn(batch, 64),)`.
    over
        A mapping from axes to their values. An axis is `mode`, `backend`, `dtype`, `threads`,
        `dynamic` (True, False), `target`, the name of an Inductor option, or a size that `args`
        takes. A `target` is a name from `targets()`, whose figures are modelled rather than timed.
        The kernel axes are `max_autotune_gemm_backends` ("ATEN,CPP") and `template` (a regular
        expression for the autotuner's choice names). Virtual GPUs also accept Triton parameters as
        axes: `XBLOCK`, `num_warps`, `k0.num_stages`, ….
    executor
        The executor that runs the trials: any concurrent.futures.Executor, such as Dask's
        `client.get_executor()`. By default, trials run on this machine.
    store
        The path of an SQLite file. Defaults to a file in the user's cache folder.
    strategy, objective, trials, seconds
        The strategy "grid" tries every configuration. "random", "halving" and "tpe" (from Optuna)
        search within a budget of trials or seconds. The objective is "latency", "throughput",
        "first_call" or "memory".
    jobs
        The number of parallel trials. Compilations run in parallel, measurements one at a time.
    timeout_s, memory_bytes
        Time and memory limits for each trial.
    compile_only
        Whether to only compile, and report compile times, kernels and traffic.
    spread, measure_s
        Stop measuring once the half-width of the 99.9 % confidence interval is at most `spread`
        times the median, or after `measure_s` seconds.
    rtol, atol
        The tolerances for the comparison with eager. Default to those of the dtype.
    progress
        A callback, called with each row and whether the row came from the store. If it has a method
        `started`, that method is called first with the running sweep. Any thread may call the
        sweep's `.so_far()` and `.cancel()`.

    Raises
    ------
    UsageError
        An axis or value is unknown. The error names the closest match.
    KeyboardInterrupt
        The sweep was interrupted. The `sweep` attribute of the exception holds the finished trials,
        which are also in the store.

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
