"""Where a compiled call departs from eager: run on copies of the inputs, everything put back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from workbench.analysis.diff.report_comparison import is_same_code
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.arguments import checked
from workbench.compiler.call_state.call_leaves import (
    copy_all_inputs,
    find_held_inputs,
    find_learning_tensors,
    leaves_of,
    restore_state,
)
from workbench.compiler.calls.paths import Path as LeafPath
from workbench.compiler.calls.paths import leaves
from workbench.compiler.comparison.judgement import say_overflow
from workbench.compiler.contract.contract import Contract
from workbench.compiler.contract.shared_memory import list_overlapping
from workbench.compiler.internals.older_releases import list_strict_numerics
from workbench.compiler.internals.tensor_kind import is_flattenable
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError, WorkbenchError, read_first_line
from workbench.file_path import check_file_path, explain_no_path
from workbench.handles.base.compiled_base import CompiledBase
from workbench.handles.running.progress_line import follow_in_a_line
from workbench.report.collectives.collective_rows import NOTHING_SENT, has_fake_collectives
from workbench.report.presenter import presenter
from workbench.report.tables import read_table
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.progress_events import ProgressCallback, step
from workbench.worlds.numerics.computing.comparisons import (
    Batch,
    KeptCall,
    compare_calls,
    compare_outputs,
    compare_rows,
    find_batch,
    keep_call,
    list_unlike,
    load_call,
)
from workbench.worlds.numerics.computing.isolated_kernels import (
    IsolatedKernel,
    isolate,
    write_repro,
)
from workbench.worlds.numerics.computing.microscope import (
    HostProgram,
    StagesMissing,
    look_at,
    open_program,
    say_without_numbers,
)
from workbench.worlds.numerics.findings.causes import overflows_in_eager
from workbench.worlds.numerics.findings.numerics_cures import (
    UNCONTRACTED,
    list_offers,
    price_full_products,
    read_option,
)
from workbench.worlds.numerics.findings.numerics_record import (
    BatchInvariance,
    Numerics,
    ProgramsApart,
    add_cures,
    add_numerics,
    read_numerics,
)
from workbench.worlds.numerics.questions.cure_trials import try_cure
from workbench.worlds.numerics.rows import NumericsCure, NumericsProof

if TYPE_CHECKING:
    import pandas

    from workbench.worlds.numerics.questions.minified import Minified as Minified


@dataclass(frozen=True, repr=False)
class LiveNumerics(Numerics):
    """Compare numerics of a live compilation, whose parts can be recompiled or saved."""

    program: HostProgram = field(kw_only=True, compare=False)
    compiled: CompiledBase = field(kw_only=True, compare=False)
    call: tuple[tuple[Any, ...], Mapping[str, Any]] = field(kw_only=True, compare=False)
    asked: CompiledBase = field(kw_only=True, compare=False)
    """What was asked about; `compiled` is what was looked at, which may be made anew."""
    references: Mapping[Any, Callable[..., Any]] = field(default_factory=dict, compare=False)

    @checked
    def subgraph(self, kernel: str, node: str | None = None) -> torch.fx.GraphModule:
        """Return the nodes that a kernel computes, as a module of its inputs.

        Raises `UsageError` for anything but a kernel, and for nodes that cannot run alone.
        """
        return self._isolate(kernel, node).build()

    @checked
    def prove(
        self, kernel: str, node: str | None = None, progress: ProgressCallback | None = None
    ) -> NumericsProof:
        """Compile the nodes of a kernel without and with the option of their cause.

        Both run on the inputs of the call, and are compared with eager: `.sentence` says whether
        the option removes the difference. Raises `UsageError` if no option is known.
        """
        from workbench.worlds.numerics.questions.cure_trials import prove_cause

        row = self.find(kernel, node)
        part = self._isolate(row.kernel or kernel, row.node)
        recipe = self.compiled.recipe
        if recipe is None:
            raise UsageError(FROM_FILE)
        options = dict(recipe.options(self.compiled.target).options or {})
        with follow_in_a_line(progress, f"Proving {row.kernel or row.part}") as callback:
            return prove_cause(row, part, options, recipe.compile_other, callback)

    @checked
    def repro(self, kernel: str, path: str | PathLike[str], node: str | None = None) -> str:
        """Write a script that runs one kernel alone, on saved inputs of the call; returns the path.

        It compares with eager and with float64, and needs torch and a C++ compiler. A Triton kernel
        runs on a GPU if there is one. Otherwise it runs in Triton's interpreter, which needs this
        package. The inputs are in the file of the same name that ends in `.pt`, and contain your
        values. Raises `UsageError` for a library call, and for your own Triton kernels, which have
        no nodes to compare with.
        """
        chosen = Path(check_file_path(path))
        part = self._isolate(kernel, node)
        rows = [r for r in self.deviations if r.kernel == part.kernel.id]
        what = rows[0].cause if rows else "no difference from eager"
        title = f"{part.kernel.id} ({part.kernel.name}) of {self.compiled.name}, isolated."
        purpose, products = f"Cause of the difference: {what}.", self.program.products
        return str(write_repro(part, chosen, title, purpose, products)[0])

    @checked
    def save_values(self, path: str | PathLike[str]) -> str:
        """Write each kernel's results in this call, to compare another program; returns the path.

        `wb.numerics(other, args, against=path)` compares them with another release of torch, or
        with other options, given the same inputs and weights. The file contains your values.
        """
        from workbench.worlds.numerics.computing.comparisons import keep_call

        chosen = check_file_path(path)
        keep_call(self.program, self.compiled.name).save(Path(chosen))
        return chosen

    @property
    def tried(self) -> tuple[NumericsCure, ...]:
        """The options that were tried since, with the effect and cost of each."""
        return tuple(read_table(self.asked.report, "numerics_cures", NumericsCure))

    @checked
    def cures(self, progress: ProgressCallback | None = None) -> tuple[NumericsCure, ...]:
        """Return the options that help, with the effect and cost of each; compiles and runs them.

        It tries the options that a cause names, this torch's options to round as eager does, and
        the worst kernel unfused. `tried` also has those that do not help. Kernels and bytes are
        counted. Times are measured interleaved with the unchanged call, or modelled bounds if
        the GPU is not here. The report keeps them; `.frame("cures")` has them as a table.
        """
        from workbench.worlds.numerics.questions.cure_trials import try_cure

        args, kwargs = self.call

        def look(compiled: CompiledBase) -> Numerics:
            return look_at_numbers(compiled, args, kwargs, references=self.references)

        with follow_in_a_line(progress, f"Cures for {self.compiled.name}") as callback:
            tried = tuple(
                try_cure(self.compiled, self, cure, look, callback) for cure in self.opportunities
            )
        self.asked.update(add_cures(self.asked.report, tried))
        return tuple(cure for cure in tried if cure.helps)

    @checked
    def batch_invariance(self, row: int = 0) -> BatchInvariance:
        """Check whether a row is bitwise equal alone, among zeros, and in half of the batch.

        The same compiled kernels run, and the first one that gives another value for the row is
        named. The batch is the first dynamic dimension, by `dynamic_shapes`, in every argument that
        has it. Without one, it is the first dimension of the first tensor among the arguments, and
        of others of its length, except parameters. Raises `UsageError` if there is no such
        dimension or row.
        """
        args, kwargs = self.call
        parts = (leaf for _, leaf in leaves((args, dict(kwargs)), LeafPath("call")))
        tensors = [leaf for leaf in parts if isinstance(leaf, torch.Tensor)]
        batch = find_batch(tensors, list_sizes(self.program.compiled))
        if batch is None or not 0 <= row < batch[0]:
            have = f"the batch has {batch[0]}" if batch else "no input has a first dimension"
            raise UsageError(f"Row {row} does not exist: {have}.")
        with restore_state(self.program.compiled.module):
            rows = compare_rows(self.program, Batch(args, kwargs, batch[0], row, batch[1]))
            return BatchInvariance(row, rows)

    @checked
    def frame(self, name: str = "deviations") -> pandas.DataFrame:
        """Return a table as a saved report does; `cures` are tried on request, each in seconds."""
        if name == "cures":
            return presenter().rows_frame(self.cures(), NumericsCure)
        return super().frame(name)

    def _isolate(self, kernel: str, node: str | None) -> IsolatedKernel:
        kernels = {row.id: row for row in self.compiled.report.kernels}
        if kernel not in kernels:
            ids = ", ".join(kernels) or "none"
            raise UsageError(f"Kernel {kernel!r} does not exist. Choose one of: {ids}.")
        part = self.program.find_part(kernels[kernel].graph or "")
        return isolate(part, kernels[kernel], node)


def list_sizes(compiled: Any) -> list[tuple[Any, ...]]:
    """The sizes that a call was compiled for, of each tensor among its arguments in their order."""
    contract = (
        compiled.plan.contract
        if hasattr(compiled, "plan")
        else Contract.from_json(compiled.program.contract["inputs"])
    )
    return [
        leaf.shape
        for leaf in contract.leaves or ()
        if leaf.kind == "tensor" and leaf.path.root != contract.receiver
    ]


def look_at_numbers(
    compiled: CompiledBase,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    progress: ProgressCallback | None = None,
    references: Mapping[Any, Callable[..., Any]] | None = None,
) -> LiveNumerics:
    """Compare every stage and kernel of a compiled call with what it was made from.

    The report of `compiled` has what was found thereafter. `references` compute what Triton kernels
    and operators of the user are for. Raises `UsageError` with what stands in
    the way, and `ContractError` for a call that does not fit.
    """
    named = dict(kwargs or {})
    with watch_numbers(compiled, args, named, progress, references) as (program, notes):
        findings = look_at(program, progress)
    gpu = getattr(compiled, "gpu", None)
    price = "" if gpu is None else price_full_products(compiled.report, findings.deviations, gpu)
    numerics = LiveNumerics(
        program=program,
        compiled=program.compiled,
        asked=compiled,
        call=(args, named),
        references=references or {},
        report=compiled.report,
        deviations=findings.deviations,
        stages=findings.stages,
        outputs=findings.outputs,
        compared=findings.compared,
        not_compared=findings.not_compared,
        unlike=findings.unlike,
        offers=list_offers(
            compiled.report,
            findings.deviations,
            list_strict_numerics(),
            contracts=_makes_multiply_adds(program.compiled),
        ),
        threads=torch.get_num_threads(),
        notes=tuple(filter(None, (*program.notes, price, *notes))),
    )
    compiled.update(add_numerics(numerics))
    return replace(numerics, report=compiled.report)


def _makes_multiply_adds(compiled: CompiledBase) -> bool:
    """Whether the C++ compiler was allowed to make one instruction of a product and a sum."""
    option, recipe = read_option(UNCONTRACTED)[0], compiled.recipe
    if recipe is None:
        return False
    then = recipe.option_then("inductor", option, "off")
    chosen = dict(recipe.options(compiled.target).options).get(option, then)
    return bool(chosen != "off")


def compare_numbers(
    compiled: CompiledBase,
    other: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> ProgramsApart:
    """Where a program and another part first on the same call; see `compare_programs`."""
    return compare_programs(compiled, other, args, kwargs, progress)


def minify(
    function: Any,
    call: tuple[tuple[Any, ...], Mapping[str, Any]],
    options: Mapping[str, Any],
    fails: Any,
    compile_one: Callable[[Any], Any],
    progress: ProgressCallback | None,
) -> Minified:
    """The smallest part of a call that still fails; see `minify_call`."""
    from workbench.worlds.numerics.questions.minified import FailureSearch, minify_call

    name = getattr(function, "__name__", type(function).__name__)
    judge = fails or FailureSearch(compile_one, options).fails
    return minify_call(function, *call, name, judge, progress)


def say_cause(
    compiled: CompiledBase,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    stage: str,
    wrong: Collection[str],
) -> str:
    """Which stage is at fault for the leaves that differ, and which part computes something else.

    `stage` is what comparing the stages said. Each part is judged by its own inputs.
    """
    try:
        numerics = look_at_numbers(compiled, args, kwargs)
    except (WorkbenchError, RuntimeError) as error:
        why = read_first_line(error).rstrip(".")
        return f"{stage} The part that causes the difference was not found: {why}."
    if numerics.first is not None:
        return f"{stage} {numerics.first_sentence}"
    if {*wrong} <= {row.output for row in numerics.outputs if overflows_in_eager(row)}:
        return say_overflow(sorted(wrong))
    return f"{stage} On the same inputs as eager, no part differs by more than rounding. {numerics}"


def compare_programs(
    compiled: CompiledBase,
    other: CompiledBase | str | PathLike[str],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> ProgramsApart:
    """Where two programs part, the other of which may have run elsewhere and left a file.

    Raises `UsageError` for what is neither, and where both were not given the same.
    """
    if not isinstance(other, CompiledBase) and explain_no_path(other) is not None:
        raise UsageError(
            f"against is of type {type(other).__name__}: pass a result of aot_compile, or a file "
            "from numerics(x, args).save_values(path)."
        )
    notes: list[str] = []

    def kept(side: CompiledBase) -> KeptCall:
        with watch_numbers(side, args, kwargs, progress) as (program, own):
            notes.extend(own)
            return keep_call(program, side.name)

    one = kept(compiled)
    two = (
        kept(other) if isinstance(other, CompiledBase) else load_call(Path(check_file_path(other)))
    )
    if one.place != two.place:
        notes.append(f"The first ran with {one.place}, the second with {two.place}.")
    values = tuple(compare_calls(one, two))
    outputs = tuple(compare_outputs(one, two, values))
    remarks = tuple(dict.fromkeys(notes))
    unlike = tuple(list_unlike(one, two))
    return ProgramsApart(one.name, two.name, values, outputs, remarks, unlike)


_FROM_FILE = (
    "This program was loaded from a file, and files have code but no graphs. Compile the call with "
    "`wb.aot_compile(fn, args)`."
)


def explain_no_comparison(compiled: Any) -> str | None:
    """Why a view cannot compare the numbers with eager's, in a sentence; None where it can."""
    if compiled.recipe is None:
        return _FROM_FILE
    if not len(compiled.report.kernels):
        return f"The backend {compiled.report.request.backend} generated no code to compare."
    return None


def refuse_kernel() -> BackgroundTask[Any]:
    """Raise `UsageError`: a kernel by itself is compared with a function of the user's."""
    raise UsageError(
        "A single kernel has no eager counterpart: compare its values with k.check(reference)."
    )


def describe_comparison(compiled: Any) -> str:
    """What the comparison takes, in a sentence."""
    if compiled.target in TARGETS:
        return (
            "The comparison costs about 35 eager calls (measured on a small GPT-2), plus a "
            "compilation if needed."
        )
    return (
        "The comparison costs several dozen eager calls, and one run of each Triton kernel in the "
        "interpreter."
    )


def start_comparison(compiled: Any) -> BackgroundTask[Any]:
    """Look at the numbers on the inputs of its compilation; the report has them thereafter.

    Cancelling ends it before its next step. Raises `UsageError` where the inputs are gone: zeros
    in their place would say nothing.
    """
    return _start(
        compiled, lambda args, kwargs, steps: look_at_numbers(compiled, args, kwargs, steps)
    )


def start_cure(compiled: Any, cure: Opportunity) -> BackgroundTask[Any]:
    """Compile the call with an option, compare and time it; the report has what came of it.

    Raises `UsageError` as `start_comparison` does.
    """

    def work(args: tuple[Any, ...], kwargs: dict[str, Any], steps: Steps) -> NumericsCure:
        numerics = read_numerics(compiled.report)
        assert numerics is not None  # the cure is one of its rows
        look = partial(look_at_numbers, args=args, kwargs=kwargs, progress=steps)
        tried = try_cure(compiled, numerics, cure, look, steps)
        compiled.update(add_cures(compiled.report, [tried]))
        return tried

    return _start(compiled, work)


def _start(compiled: Any, work: Any) -> BackgroundTask[Any]:
    if (why := explain_no_comparison(compiled)) is not None:
        raise UsageError(why)
    find_own_inputs(compiled)

    def look(steps: Steps) -> Any:
        return compiled.recipe.called(lambda args, kwargs: work(args, kwargs, steps))

    def let_it_end(thread: threading.Thread) -> None:
        """The next step that is told ends it."""

    return BackgroundTask(compiled.name, look, let_it_end)


_AGAIN = "Its graphs were no longer available, so it was recompiled"
FROM_FILE = (
    "This program was loaded from a file, and files have no graphs to compare kernels with. "
    "Compile "
    "the call with wb.aot_compile(fn, args), or pass the function: wb.numerics(loaded, args, "
    "reference=fn)."
)
"""What to say of code that nobody can compile again."""


def find_own_inputs(compiled: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The inputs of its compilation; raises `UsageError` where they are gone, or were never here.

    Zeros in their place would say nothing.
    """
    recipe = getattr(compiled, "recipe", None)
    if recipe is None:
        raise UsageError(f"The inputs of the compilation are not available: pass them. {FROM_FILE}")
    if gone := recipe.gone():
        raise UsageError(
            f"Inputs of the compiled call no longer exist: {', '.join(gone)}. Keep them in "
            "variables, or pass new ones: `wb.numerics(compiled, args)`."
        )
    args, kwargs = recipe.inputs()
    return args, kwargs


@contextmanager
def watch_numbers(
    compiled: CompiledBase,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    progress: ProgressCallback | None = None,
    references: Mapping[Any, Callable[..., Any]] | None = None,
) -> Iterator[tuple[HostProgram, tuple[str, ...]]]:
    """The program of a call that has run, and what to know of it; state is put back thereafter.

    `references` compute what Triton kernels and operators of the user are for.
    Raises `UsageError` with what stands in the way, and `ContractError` for a call that does not
    fit.
    """
    _refuse_without_numbers(compiled, args, kwargs)
    program, notes = _open(compiled, references, progress)
    tensors = {
        id(leaf): leaf
        for _, leaf in leaves((args, dict(kwargs)), LeafPath("call"))
        if isinstance(leaf, torch.Tensor)
    }
    if program.writes and list_overlapping([*tensors.values()]):
        raise UsageError(
            f"Inputs of {compiled.name} share memory that the call may write to, so its nodes "
            "cannot be compared one by one. Use wb.verify to compare the whole call."
        )
    looked_at = program.compiled
    held = find_held_inputs(looked_at.original, args, kwargs)
    with restore_state(looked_at.module, held=held):
        copied, names = copy_all_inputs(args, kwargs, held)
        learned = find_learning_tensors(looked_at.original, looked_at.module, (copied, names))
        with step(progress, "running the program"):
            program.call(copied, names, learned)
        returned = leaves_of(program.seen.outputs)
        if not any(isinstance(leaf, torch.Tensor) for _, leaf in returned):
            raise UsageError(
                f"{compiled.name} returns no tensor, so there is nothing to compare. Return the "
                "values in question."
            )
        yield program, notes


def _refuse_without_numbers(
    compiled: CompiledBase, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    if has_fake_collectives(compiled.report):
        raise UsageError(f"The numerics of {compiled.name} cannot be checked. {NOTHING_SENT}")
    for path, leaf in leaves((args, dict(kwargs)), LeafPath("call")):
        if isinstance(leaf, torch.Tensor) and is_flattenable(leaf):
            raise UsageError(
                f"{path} is a {type(leaf).__name__}, which the graphs replace with its inner "
                "tensors, so its nodes cannot be compared one by one. Use wb.verify to compare "
                "the whole call."
            )
        if isinstance(leaf, torch.Tensor) and (leaf.is_meta or type(leaf).__name__ == "FakeTensor"):
            reason = f"{path} has no data: pass tensors with values."
            try:
                static = say_without_numbers(open_program(compiled).stages)
            except StagesMissing:
                static = ""
            may = (
                f" Judging by the graphs alone, the program may differ from eager in: {static}."
                if static
                else ""
            )
            raise UsageError(f"{reason}{may}")


def _open(
    compiled: CompiledBase,
    references: Mapping[Any, Callable[..., Any]] | None,
    progress: ProgressCallback | None,
) -> tuple[HostProgram, tuple[str, ...]]:
    """What is looked at, with its stages, and what to know of it.

    Graphs that torch took from its cache, or that were made in another process, are made again.
    """
    try:
        return open_program(compiled, references), ()
    except StagesMissing as error:
        if compiled.recipe is None:
            raise UsageError(FROM_FILE) from error
    recompiled, _, _ = compiled.recipe.compile_changed(
        lambda call: replace(call, options=replace(call.options, capture="full")), progress
    )
    try:
        program = open_program(recompiled, references)
    except StagesMissing as error:
        raise UsageError(
            f"Nothing can be compared: {error}. Compile with backend='inductor' and without "
            "cpp_wrapper."
        ) from error
    same = is_same_code(compiled.report, recompiled.report)
    note = f"{_AGAIN}{'' if same else ', with different code, which was checked'}."
    return program, (note,)
