"""Memory: what lives at each step. It is counted when the pane is opened, as the part `memory:`."""

from __future__ import annotations

from workbench.analysis.memory.memory import count_quick_memory
from workbench.analysis.memory.timeline import explain_unknown_memory
from workbench.number_text import format_bytes
from workbench.report import Report
from workbench.views.panes.pane import Answer, Content, Pane, ViewContext, missing

_NO_BACKWARD = (
    "This call has no backward pass, so no activations are saved. Compile a training step with "
    "`grad=True` to see the effect of a memory budget."
)


def document(report: Report, context: ViewContext) -> Content:
    """Nothing at rest, but why there is nothing to count where that is seen at once."""
    why = explain_unknown_memory(report)
    empty = None if why is None else missing(report, "wrappers", "Memory is unknown.", why)
    has_budgets = any(report.memory_budgets.columns.get("is_own", ()))
    has_backward = any(wrapper.is_backward for wrapper in report.wrappers)
    why_not = {} if has_backward else dict.fromkeys(("budgets", "budget"), _NO_BACKWARD)
    answer = _answer(report)
    return Content({"has_budgets": has_budgets}, empty=empty, why_not=why_not, answer=answer)


def _answer(report: Report) -> Answer:
    """The peak as the bound that it is; that it does not fit where the target is too small."""
    usage = count_quick_memory(report)
    if not usage or not usage.peak:
        return None
    peak = f"{'≤' if usage.is_upper_bound else '≥'} {format_bytes(usage.peak)}"
    if usage.capacity is not None and usage.peak > usage.capacity:
        return f"no, needs {peak}", "break"
    return f"peak {peak}", "plain"


PANE = Pane("memory", "Memory", document, question="fit")
