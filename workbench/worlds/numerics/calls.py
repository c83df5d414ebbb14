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
    """Find where and why compiled code differs numerically from eager, and whether it matters.

    Every decomposed operator, compiler pass and kernel is computed from its own inputs in three
    ways: with eager's rounding, in float64, and with 16-bit types kept in float32. This excludes
    errors inherited from earlier parts, and float64 shows which side is more accurate. The result
    has `.sentence`, `.first`, `.frame()`, `.histogram(kernel, node)` and `.plot()`, and is added to
    the report of `x`. Inputs and state are restored afterwards.

    Parameters
    ----------
    x
        The result of `aot_compile`. For a training step, the backward pass is also checked with
        randomly weighted outputs, by comparing each operator's gradient with autograd's. For a
        virtual GPU, all Triton kernels run on the CPU in Triton's interpreter, and calls to GPU
        libraries are not checked. For a loaded file or a package, the outputs are compared. Kernels
        are compared only if compiling the reference here reproduces the code in the file.
    args, kwargs
        The inputs of the call, with real values. Defaults to the inputs used for compilation.
    against
        A program to compare with instead of eager: the same call compiled in another mode or for
        training, or a file from `.save_values(path)`, even from a different torch release. In that
        case, the result reports the first bitwise difference in `.sentence`, `.first` and
        `.frame()`.
    reference
        The function or module that was compiled. Required if the file does not name one that can be
        imported.
    references
        Reference functions for your Triton kernels and operators, keyed by name or by the kernel
        itself: `{"scale_kernel": lambda x, factor: x * factor}`. A kernel's reference takes the
        kernel arguments that match its parameter names, with their values before the call. It
        returns the tensor that the kernel writes, or a dict if there are several. An operator's
        reference takes the operator's arguments. In the eager computation, the reference replaces
        the kernel. A kernel without a reference is not checked, and `.sentence` says so. All other
        parts are checked, starting from the kernel's actual output.
    progress
        A callback, called with the name of each phase and the elapsed seconds. By default a
        progress line is shown in terminals and interactive notebooks.

    Raises
    ------
    UsageError
        `x` was loaded from a file that does not name a reference, the call does not return tensors,
        or the inputs were not passed and no longer exist. Also raised if `against` is combined with
        a package or a reference, or if `references` names a kernel or operator that is not in the
        call.
    ContractError
        The inputs do not match the compiled call.

    Examples
    --------
    >>> wb.numerics(compiled, (x,)).sentence
    'Bitwise equal to eager.'
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
            f"x is of type {type(x).__name__}: pass a result of aot_compile, package or load."
        )
    if against is not None and (reference is not None or isinstance(x, Package)):
        raise UsageError(
            "against= compares two results of aot_compile: omit reference=, and pass no package."
        )
    if references and (reference is not None or against is not None or isinstance(x, Package)):
        raise UsageError(
            "references= is for results of aot_compile: omit reference= and against=, and pass no "
            "package."
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

    with follow_in_a_line(progress, f"Numerics of {name}") as callback:
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
    """Find the smallest part of a call that still fails when compiled, using torch's minifier.

    Use this for failures that `numerics` cannot locate, such as compiler errors. Each attempt
    compiles a graph, which takes about a second. The result has `.sentence`, `.code`, `.module`,
    `.inputs` and `.save(path)`, which writes a standalone script.

    Parameters
    ----------
    fn
        A function or module, traced without gradients.
    args, kwargs
        The inputs of the call.
    fails
        A function `fails(graph_module, inputs)` that compiles the graph and returns whether it
        fails. By default, a graph must fail in the same way as the whole call. It must raise the
        same exception type, or its error against float64 must exceed both 64 eps and 8 times
        eager's error.
    options
        Compiler options, as for `aot_compile`.
    progress
        A callback, called for each attempt. If it raises an exception, the search ends. By default
        a progress line is shown in terminals and interactive notebooks.

    Raises
    ------
    UsageError
        The call does not fail, or its operators cannot be traced.

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
    with follow_in_a_line(progress, "Minifying the failure") as callback:
        return run(fn, call, dict(options or {}), fails, compile_for_target, callback)
