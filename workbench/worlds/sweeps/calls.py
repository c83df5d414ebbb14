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
    """Compile and measure a function under many settings.

    Each setting is compiled in a process of its own, compared with eager, and timed in turn with
    the original; one that fails, crashes, hangs or fills memory is a row with its reason. What was
    measured before, of the same code on the same machine, comes from the store.

    Parameters
    ----------
    args
        The example inputs, or a function that makes them of the sizes in `over`, such as
        `lambda batch: (torch.randn(batch, 64),)`.
    over
        The values of each axis: `mode`, `backend`, `dtype`, `threads`, `dynamic` (True, False),
        `target` (names in `targets()`: figures of a model in place of times), an option of
        Inductor by its name, or a size that `args` takes. Inside of kernels:
        `max_autotune_gemm_backends` ("ATEN,CPP"), `template` (a regular expression for names of
        the autotuner's choices), and for virtual GPUs parameters of Triton kernels: `XBLOCK`,
        `num_warps`, `k0.num_stages`, ….
    executor
        Where trials run: any concurrent.futures.Executor, such as Dask's `client.get_executor()`;
        by default this machine.
    store
        An SQLite file, by default in the user's cache folder.
    strategy, objective, trials, seconds
        "grid" tries everything; "random", "halving" and "tpe" (by Optuna) look for what is best
        for "latency", "throughput", "first_call" or "memory", within a budget of trials or seconds.
    jobs
        How many trials run at a time; compilations do so, measurements wait for each other.
    timeout_s, memory_bytes
        What one trial may take.
    compile_only
        Run nothing: compile times, kernels and traffic alone.
    spread, measure_s
        Measure until half of the 99.9 % interval is this share of the median, or so many seconds.
    rtol, atol
        The tolerance against eager, in place of that of the dtype.
    progress
        Called with each row, and whether it came from the store. Its method `started`, if it has
        one, is told first what runs: `.so_far()` and `.cancel()` may be called by any thread.

    Raises
    ------
    UsageError
        An axis or a value is unknown; the nearest match is named.
    KeyboardInterrupt
        On an interrupt; what is done is its attribute `sweep`, and in the store.

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
