"""Comparing what was compiled with the original: same inputs, same random state, every effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.arguments import shown
from workbench.compiler.captured_code.specialized_values import resolve
from workbench.compiler.comparison.judgement import Tolerance
from workbench.compiler.comparison.output_comparison import Comparison, Verification
from workbench.compiler.comparison.trial import Trial
from workbench.errors import UsageError
from workbench.handles.base.compared_call import has_other_draws as has_other_draws
from workbench.handles.base.compared_call import list_roots as list_roots
from workbench.handles.base.compared_call import try_call as try_call
from workbench.report.cluster.cluster_rows import (
    CLUSTER,
    NOTHING_SENT,
    RANK_NUMBERS,
    has_fake_collectives,
)
from workbench.worlds.world import ask, list_worlds

if TYPE_CHECKING:
    from workbench.compiler.interpreter.verification import Edit
    from workbench.handles.base.checked_call import CheckedCall
    from workbench.handles.base.compiled_base import CompiledBase
    from workbench.handles.running.rank_checks import RankVerification

_OUTSIDE = "the package has no such value: nobody outside can write or read it"


def verify(
    compiled: CheckedCall,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Run the original and the compiled code on copies of the inputs and compare every effect.

    These are outputs, inputs after the call, parameters, buffers and other values that the call
    changes, gradients where it was compiled with them, and the random state. The reference is the
    live function or module, else the importable one that the file names, else `reference=`;
    without any `UsageError` is raised. Everything is put back afterwards. A leaf that differs is
    not checked where another seed changes it too, nothing where collectives send nothing.
    """
    original, name = _reference(compiled, reference)
    if has_fake_collectives(compiled.report):
        return Verification((), name, cause=NOTHING_SENT)
    inputs = args, dict(kwargs or {})
    trial = try_call(original, compiled, inputs, tolerance=Tolerance(rtol, atol))
    rows = trial.judge()
    cause = _cause(compiled, rows, trial, reference)
    if cause and reference is None and compiled.recipe is not None:
        wrong = {row.leaf for row in rows if row.verdict == "failed"}
        for world in list_worlds():
            earlier = cause
            cause = ask(
                world,
                lambda w: w.explain_difference(compiled, inputs, earlier, wrong),  # noqa: B023
                earlier,
                "the explanation of a difference",
            )
    return Verification(tuple(rows), name, cause=cause)


def _cause(compiled: CheckedCall, rows: list[Comparison], trial: Trial, reference: Any) -> str:
    """Which stage made a difference, in two sentences; "" where there is none."""
    wrong = {row.leaf for row in rows if row.verdict == "failed"}
    if not wrong:
        return ""

    def differs(function: Callable[..., Any]) -> bool:
        return bool(wrong & trial.find_wrong(function))

    recipe = compiled.recipe
    if recipe is None or compiled.original is None:
        return (
            "Which stage is wrong was not judged: it was loaded from a file, without the function "
            "that was compiled."
        )
    if reference is not None and differs(compiled.original):
        return (
            "The original itself differs from the reference: no stage of the compilation is at "
            "fault for that. Verify without reference= to judge the compiled code."
        )
    from workbench.compiler.interpreter.stage_checks import name_wrong_stage
    from workbench.compiler.request.compile_request import CompileRequest

    options = recipe.options(compiled.target)

    def judge(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return name_wrong_stage(CompileRequest(recipe.target, args, kwargs, options), differs)

    return recipe.called(judge)


def refuse_for_host(**wanted: bool) -> None:
    """Raise `UsageError` for what only a program of a virtual GPU can be asked."""
    for name in [name for name, is_wanted in wanted.items() if is_wanted]:
        raise UsageError(
            f"{name}=True is for programs of a virtual GPU, which are run in an interpreter. Leave "
            "it out, or compile with target='h100' or another name in targets()."
        )


def _reference(
    compiled: CheckedCall, reference: Callable[..., Any] | None
) -> tuple[Callable[..., Any], str]:
    if reference is None and compiled.original is not None:
        return compiled.original, compiled.name
    return name_reference(reference, compiled.reference_name, compiled.name)


def name_reference(
    reference: Callable[..., Any] | None, place: str | None, name: str
) -> tuple[Callable[..., Any], str]:
    """What is given, or what has an importable name, with what it is called."""
    if reference is not None:
        return reference, getattr(reference, "__name__", type(reference).__name__)
    if place is None:
        raise UsageError(
            f"There is nothing to compare {name} with: the original is not alive and has no "
            "importable name. Pass it: verify(x, args, reference=function)."
        )
    try:
        return resolve(place), place
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"The original {place} cannot be imported ({error}). Pass it: "
            "verify(x, args, reference=function)."
        ) from error


MOST_RANKS = 16
_NO_BUILD = (
    "The model holds the values of one rank alone. Give the function that makes it, "
    "verify(x, ranks={ranks}, build=build), where build(mesh) gives the model, or the model and "
    "the tuple of this rank's inputs: it is called on every rank."
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
    from workbench.handles.running.rank_checks import (
        AFTER_AUTOGRAD,
        LOSSES,
        KernelQuestion,
        RankQuestion,
        RankVerification,
        Whole,
        check_ranks,
    )

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
            f"{compiled.name} was loaded from a file, which does not hold how it was compiled: "
            "compile it again to verify it on all ranks."
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
            f"{name} was compiled outside of a cluster and has one rank: leave out ranks=, or "
            "compile it inside `with wb.virtual_cluster(...)`."
        )
    world = cluster["world_size"]
    if not cluster["is_fake"]:
        raise UsageError(
            f"{name} was compiled beside a real process group, where every rank has numbers of its "
            "own: verify without ranks=, on each of them."
        )
    if ranks > MOST_RANKS or world > MOST_RANKS:
        raise UsageError(
            f"All {max(world, ranks)} ranks would run in this process, one after another, each "
            f"with its own model: at most {MOST_RANKS} are. The graphs hold the sizes of a cluster "
            f"of {world}: compile the same program on a small mesh, such as "
            "wb.virtual_cluster({'dp': 2, 'tp': 2}), and verify that."
        )
    if ranks != world:
        raise UsageError(
            f"ranks is {ranks}, but {name} was compiled on a cluster of {world}, whose sizes its "
            f"graphs hold: give ranks={world}, or compile it on a mesh of {ranks}."
        )
