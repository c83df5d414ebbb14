"""Compares a program of a virtual cluster with eager code, on every rank of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.arguments import shown
from workbench.compiler.comparison.judgement import Tolerance
from workbench.errors import UsageError
from workbench.report.collectives.collective_rows import CLUSTER
from workbench.worlds.clusters.running.rank_checks import (
    AFTER_AUTOGRAD,
    LOSSES,
    KernelQuestion,
    RankQuestion,
    Whole,
    check_ranks,
)
from workbench.worlds.clusters.running.rank_checks import RankVerification as RankVerification

if TYPE_CHECKING:
    from workbench.compiler.interpreter.verification import Edit
    from workbench.handles.base.compiled_base import CompiledBase

RANK_NUMBERS = "rank_numbers"
"""Where `Report.extra` has what the last verification of all ranks found.

The `verdict`, its `sentence`, and `ranks`: of each its program and how far it is off.
"""
MOST_RANKS = 16
_NO_BUILD = (
    "The model has the values of only one rank. Pass the function that makes it: verify(x, "
    "ranks={ranks}, build=build). build(mesh) runs on every rank and returns the model, or the "
    "model and the tuple of this rank's inputs."
)


def verify_ranks(
    compiled: CompiledBase,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    ranks: int,
    build: Callable[[Any], Any] | None = None,
    reference: Callable[..., Any] | None = None,
    loss: str = "mean",
    per_kernel: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    edit: Callable[[int], Edit | None] = lambda rank: None,
) -> RankVerification:
    """Run a program of a virtual cluster on all of its ranks and compare each; see `wb.verify`.

    `edit` changes, by the rank, the sources of what `per_kernel` runs.

    What was found is kept in the record.
    """
    report = compiled.report
    cluster: Mapping[str, Any] = report.extra.get(CLUSTER, {})
    _check_ranks(compiled.name, cluster, ranks)
    _check_functions(build=build, reference=reference)
    if loss not in LOSSES:
        raise UsageError(f"loss is {loss!r}: expected 'mean' or 'sum'.")
    if build is None:
        return RankVerification((), compiled.name, cause=_NO_BUILD.format(ranks=ranks))
    if compiled.recipe is None:
        raise UsageError(
            f"{compiled.name} was loaded from a file without its source code: recompile it to "
            "verify it on all ranks."
        )
    grad = any(graph.is_backward for graph in report.graphs)
    whole = None
    if reference is not None:
        whole = Whole.of(reference, args, kwargs, grad=grad, loss=loss)
    kernels = None
    if per_kernel:
        kernels = KernelQuestion(compiled.recipe, Tolerance(rtol, atol, grows=True), edit)
        options = replace(compiled.recipe.options(report.request.target), grad=grad)
    else:
        options = compiled.recipe.options("host")
        backend = AFTER_AUTOGRAD if options.backend == "inductor" else options.backend
        options = replace(
            options, backend=backend, mode=None, options={}, fusion=None, grad=grad, budgets=()
        )
    question = RankQuestion(
        build,
        cluster.get("mesh") or {"ranks": ranks},
        args,
        kwargs,
        options,
        report,
        cluster["rank"],
        compiled.name,
        whole,
        rtol,
        atol,
        kernels,
    )
    verification = check_ranks(question)
    compiled.update(replace(report, extra={**report.extra, RANK_NUMBERS: verification.facts}))
    return verification


def _check_functions(**functions: Any) -> None:
    for name, value in functions.items():
        if value is not None and not callable(value):
            raise UsageError(f"{name} is {shown(value)}: expected a function or a model.")


def _check_ranks(name: str, cluster: Mapping[str, Any], ranks: int) -> None:
    if not cluster:
        raise UsageError(
            f"{name} was compiled outside a cluster and has one rank: omit ranks=, or "
            "compile it inside `with wb.virtual_cluster(...)`."
        )
    world = cluster["world_size"]
    if not cluster["is_fake"]:
        raise UsageError(
            f"{name} was compiled in a real process group, where every rank has its own values: "
            "verify on each rank, without ranks=."
        )
    if ranks > MOST_RANKS or world > MOST_RANKS:
        raise UsageError(
            f"All {max(world, ranks)} ranks would run in this process, but at most {MOST_RANKS} "
            f"can. The graphs are sized for a cluster of {world}: compile the program on a small "
            "mesh, such as `wb.virtual_cluster({'dp': 2, 'tp': 2})`, and verify that."
        )
    if ranks != world:
        raise UsageError(
            f"ranks is {ranks}, but {name} was compiled for a cluster of {world}: give "
            f"ranks={world}, or compile it on a mesh of {ranks}."
        )
