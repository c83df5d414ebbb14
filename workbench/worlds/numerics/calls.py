"""The numbers of compiled code: where they depart, why, and the smallest part that fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.host import require_torch

if TYPE_CHECKING:
    from workbench.handles.compiled import Compiled
    from workbench.handles.cross_compiled import CrossCompiled
    from workbench.handles.packages.package import Package
    from workbench.tasks.progress_events import ProgressCallback
    from workbench.worlds.numerics.findings.numerics_record import Numerics, ProgramsApart
    from workbench.worlds.numerics.questions.numerics_questions import LiveNumerics, Minified


__all__ = ["minify", "numerics"]


@overload
def numerics(
    x: Compiled | CrossCompiled,
    args: tuple[Any, ...] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    against: None = None,
    reference: None = None,
    references: Mapping[Any, Callable[..., Any]] | None = None,
    progress: ProgressCallback | None = None,
) -> LiveNumerics: ...


@overload
def numerics(
    x: Compiled | Package,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    against: None = None,
    reference: Callable[..., Any],
    progress: ProgressCallback | None = None,
) -> Numerics: ...


@overload
def numerics(
    x: Package,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    progress: ProgressCallback | None = None,
) -> Numerics: ...


@overload
def numerics(
    x: Compiled,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    against: Compiled | str | PathLike[str],
    progress: ProgressCallback | None = None,
) -> ProgramsApart: ...


@require_torch
@checked
def numerics(
    x: Compiled | CrossCompiled | Package,
    args: tuple[Any, ...] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    against: Any = None,
    reference: Callable[..., Any] | None = None,
    references: Mapping[Any, Callable[..., Any]] | None = None,
    progress: ProgressCallback | None = None,
) -> Numerics | ProgramsApart:
    """Where compiled code departs from eager in its numbers, why, and whether it matters.

    Every operator that was taken apart, every pass and every kernel is computed from its own inputs
    in three ways: as eager rounds it, in float64, and with 16 bits held in float32. So nothing is
    inherited from earlier parts, and float64 judges who is nearer to the truth. The result has
    `.sentence`, `.first`, `.frame()`, `.histogram(kernel, node)` and `.plot()`; the report of `x`
    keeps it. Inputs and state are as before afterwards.

    Parameters
    ----------
    x
        What `aot_compile` made. Of a training step the backward is looked at as well, with outputs
        weighed at random: the gradient of each operator beside autograd's. Of a virtual GPU every
        Triton kernel is run on the CPU by Triton's interpreter; what a library of the GPU computes
        is not checked. Of what was loaded, and of a package, the outputs are compared, and the
        kernels where compiling the reference here gives the code of the file.
    args, kwargs
        The inputs of the call; they hold numbers. Left out: those of its compilation.
    against
        Another program of the same call in place of eager: compiled in another mode, or for
        training, or the file that `.save_values(path)` wrote in another release of torch. The
        result then says where the two part first, bit for bit: `.sentence`, `.first`, `.frame()`.
    reference
        What was compiled, where a file names nothing that can be imported.
    references
        What Triton kernels and operators of yours should compute, each by its name or by the
        kernel itself: `{"scale_kernel": lambda x, factor: x * factor}`. Such a function takes those
        of the kernel's arguments that it names, as they were before, and returns the tensor that
        the kernel writes, or a dict of several; that of an operator takes what the operator does.
        It stands for the kernel in what eager computes. A kernel without one is not checked, which
        the sentence says; all else is, from what the kernel really gave.
    progress
        Called with the name of each phase and the seconds since the start; without it a line says
        how far it is, in a terminal and a person's notebook.

    Raises
    ------
    UsageError
        It was loaded from a file and names no reference, the call returns no tensors, its inputs
        are left out and gone, `against` stands beside a package or a reference, or `references`
        names what the call does not have.
    ContractError
        The call is not the one that was compiled.

    Examples
    --------
    >>> wb.numerics(compiled, (x,)).sentence
    'Equal to eager bit for bit.'
    """
    from workbench.compiler.request.compile_request import CompileRequest, check_args
    from workbench.compiler.request.composition import choose_options
    from workbench.handles.compiled import Compiled
    from workbench.handles.compiling.dispatch import compile_for_target
    from workbench.handles.cross_compiled import CrossCompiled
    from workbench.handles.packages.comparisons import find_packaged_reference
    from workbench.handles.packages.package import Package
    from workbench.handles.running.progress_line import follow_in_a_line
    from workbench.worlds.numerics.questions.numerics_questions import (
        compare_numbers,
        find_own_inputs,
        look_at_loaded,
        look_at_numbers,
    )

    if not isinstance(x, Compiled | CrossCompiled | Package):
        raise UsageError(
            "numerics takes what aot_compile, package or load made; this is of type "
            f"{type(x).__name__}."
        )
    if against is not None and (reference is not None or isinstance(x, Package)):
        raise UsageError(
            "against= compares two programs that aot_compile made: leave out reference=, and pass "
            "no package."
        )
    if references and (reference is not None or against is not None or isinstance(x, Package)):
        raise UsageError(
            "references= is for kernels of what aot_compile made: leave out reference= and "
            "against=, and pass no package."
        )
    if args is None:
        called = find_own_inputs(x)
    else:
        check_args(args, kwargs)
        called = tuple(args), dict(kwargs or {})
    name = ", ".join(x.names) if isinstance(x, Package) else x.name

    def compile(options: dict[str, Any]) -> Compiled | CrossCompiled:
        settings = None, None, options, None, None
        chosen = choose_options(
            original, *settings, grad=False, target="host", guards="portable", capture="full"
        )
        return compile_for_target(CompileRequest.of(original, *called, chosen), callback)

    with follow_in_a_line(progress, f"The numbers of {name}") as callback:
        if isinstance(x, Package):
            original, label = find_packaged_reference(x, reference, called)
            return look_at_loaded(x, label, *called, compile, callback)
        if against is not None:
            return compare_numbers(x, against, *called, callback)
        if reference is not None:
            original, label = reference, getattr(reference, "__name__", type(reference).__name__)
            return look_at_loaded(x, label, *called, compile, callback)
        return look_at_numbers(x, *called, callback, references)


@require_torch
@checked
def minify(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    fails: Callable[[Any, Any], bool] | None = None,
    options: Mapping[str, Any] | None = None,
    progress: ProgressCallback | None = None,
) -> Minified:
    """The smallest part of a call that still fails when it is compiled, by torch's minifier.

    For what `numerics` cannot name, such as an error of the compiler itself. Every try compiles a
    graph, in about a second. The result has `.sentence`, `.code`, `.module`, `.inputs` and
    `.save(path)`, which writes a script that runs alone.

    Parameters
    ----------
    fn
        A function or module, which is followed without gradients.
    args, kwargs
        The inputs of the call.
    fails
        `fails(graph_module, inputs)`, which compiles the graph itself and says whether that fails;
        by default it fails where it raises as the whole does, or departs from float64 by more than
        64 roundings and 8 times as much as eager.
    options
        Of the compilation, as for `aot_compile`.
    progress
        Called with each try; what it raises ends the work. Without it a line says how far it is, in
        a terminal and a person's notebook.

    Raises
    ------
    UsageError
        The call does not fail, or cannot be followed operator by operator.

    Examples
    --------
    >>> small = wb.minify(f, (x,), fails=lambda *_: True)
    >>> small.nodes < small.nodes_before
    True
    """
    from workbench.compiler.request.compile_request import check_args
    from workbench.handles.compiling.dispatch import compile_for_target
    from workbench.handles.running.progress_line import follow_in_a_line
    from workbench.worlds.numerics.questions.numerics_questions import minify as run

    check_args(args, kwargs)
    call = tuple(args), dict(kwargs or {})
    with follow_in_a_line(progress, "The smallest part that fails") as callback:
        return run(fn, call, dict(options or {}), fails, compile_for_target, callback)
