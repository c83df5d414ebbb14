"""A package compared with its original, and its memory with what was counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from torch.export import ExportedProgram

from workbench.analysis.memory.memory import Memory, memory
from workbench.analysis.memory.timeline import is_on_cpu
from workbench.compiler.comparison.judgement import Tolerance
from workbench.compiler.comparison.output_comparison import Comparison, Verification
from workbench.compiler.comparison.trial import DRAWN, UNREACHED, Trial
from workbench.compiler.measuring.call_memory import allocated
from workbench.errors import UsageError
from workbench.handles.memory.measured import WARM, MeasuredMemory, check_sizes
from workbench.handles.packages.open_package import OpenPackage
from workbench.handles.running.verify import has_other_draws, name_reference

_NOT_WRITTEN = "eager writes this buffer during a call; a package writes no buffers"


def verify_package(
    package: OpenPackage,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Run the eager model and the package on copies of the inputs without grad, and compare.

    The reference is `reference=` if given, otherwise the model that the package was created from in
    this process, otherwise the importable model named in the file. Raises `UsageError` if there is
    no reference or the package holds several models. Also raised if the package writes to its own
    buffers, because these cannot be restored.
    """
    original, name = find_packaged_reference(package, reference, (args, kwargs or {}))
    written = {c.fqn for model in package.manifest.models for c in model.constants if c.mutated}
    if written:
        raise UsageError(
            f"The package writes its own {', '.join(sorted(written))} in every call, so a "
            "comparison would change its state. wb.roundtrip(package, args) compares in separate "
            "processes."
        )
    trial = Trial.of(
        package,
        original,
        (args, kwargs or {}),
        gradients=False,
        tolerance=Tolerance(rtol, atol),
        drawn=DRAWN if _draws_otherwise(package) else "",
    )
    return Verification(tuple(_judge_buffer(row) for row in trial.judge()), name)


def _draws_otherwise(package: OpenPackage) -> bool:
    """Whether one of its models may draw other random numbers than torch from the same state."""
    models = package.manifest.models
    return any(
        model.report is None or has_other_draws(package.report_of(model.name)) for model in models
    )


def _judge_buffer(row: Comparison) -> Comparison:
    """A buffer that the original writes is wrong in a package that writes none."""
    is_lost = row.leaf.startswith("buffer ") and row.reason.endswith(UNREACHED)
    return replace(row, verdict="failed", reason=_NOT_WRITTEN) if is_lost else row


def find_packaged_reference(
    package: OpenPackage,
    reference: Callable[..., Any] | None,
    call: tuple[tuple[Any, ...], Mapping[str, Any]],
) -> tuple[Callable[..., Any], str]:
    """Return a package's reference model and its name, or raise `UsageError` if there is none."""
    models = package.manifest.models
    if package.manifest.are_variants:
        models = (package.manifest.model(package.variant_of(*call[0], **call[1]).name),)
    if len(models) > 1 and package.manifest.bucketing is None:
        names = ", ".join(package.names)
        raise UsageError(
            f"The package holds several models ({names}), but verify calls only one. Package each "
            "in its own file, or compare one with wb.roundtrip(package, args, model=name)."
        )
    if reference is None:
        original = package.originals.get(models[0].name)
        reference = original.module() if isinstance(original, ExportedProgram) else original
    return name_reference(reference, models[0].reference, models[0].name)


def read_package_memory(package: OpenPackage, model: str | None) -> Memory:
    """Return the memory of one model, measurable if the model runs entirely on the CPU."""
    usage = memory(package.report if model is None else package.report_of(model))
    if not is_on_cpu(usage.report):
        return usage
    return replace(usage, measurer=partial(_measure_package, package, model, usage))


def _measure_package(
    package: OpenPackage, model: str | None, usage: Memory, *args: Any, **kwargs: Any
) -> MeasuredMemory:
    check_sizes(usage, args, kwargs)
    call = partial(package if model is None else package[model], *args, **kwargs)
    for _ in range(WARM):
        call()
    return MeasuredMemory(usage.peak - usage.base, allocated(call).peak, None)
