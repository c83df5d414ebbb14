"""A backward pass that an evaluation does not need."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.analysis.fusion.traffic import count_moved_bytes, sum_known
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts
from workbench.number_text import number_text
from workbench.report.report_header import REQUIRES_GRAD

_COMPILES_BACKWARD = "bw_compiler"
"""In the name of torch's phase that compiles the backward pass."""


def find_unneeded_gradients(facts: Facts) -> Iterator[Opportunity]:
    """A module in `eval()` whose program has a backward pass, and whose inputs need no gradient."""
    request = facts.report.request
    backward = [kernel for kernel in facts.kernels if kernel.is_backward]
    is_eval = request.kind == "module" and request.training is False
    if not (request.grad and is_eval and backward) or _needs_gradient(facts):
        return
    count, every = (sum(max(kernel.calls, 1) for kernel in k) for k in (backward, facts.kernels))
    moved = sum_known(count_moved_bytes(kernel) for kernel in backward)
    us = None if moved is None or facts.gpu is None else facts.microseconds(moved, backward)
    yield Opportunity(
        id="",
        rule="unneeded-gradients",
        kind="option",
        text=f"Compile without gradients (--no-grad in the magic): {request.name} is in eval(), "
        f"but {count} of {every} kernels are its backward pass{_tell_compile_time(facts)}.",
        sure="possible",
        source="counted: the kernels of the backward pass, which run only if backward() is called"
        + ("" if us is None else facts.time_source(backward)),
        kernels=tuple(kernel.id for kernel in backward),
        saved_bytes_low=None if moved is None else 0,
        saved_bytes_high=moved,
        saved_us_low=None if us is None else 0.0,
        saved_us_high=us,
        fewer_kernels=count,
        settings=(("grad", False),),
    )


def _needs_gradient(facts: Facts) -> bool:
    """Whether an input asks for its gradient: then somebody takes it."""
    return any(text.endswith(REQUIRES_GRAD) for text in facts.report.request.inputs)


def _tell_compile_time(facts: Facts) -> str:
    phases = [phase for phase in facts.report.phases if _COMPILES_BACKWARD in phase.name]
    seconds = sum(phase.duration_s for phase in phases)
    return f", compiled in {number_text(seconds, 'seconds')}" if seconds else ""
