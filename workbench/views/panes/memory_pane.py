"""Memory: what lives at each step. It is counted when the pane is opened, as the part `memory:`."""

from __future__ import annotations

from workbench.analysis.memory.timeline import explain_unknown_memory
from workbench.report import Report
from workbench.views.panes.pane import Content, Pane, ViewContext, missing

_NO_BACKWARD = (
    "It has no backward pass, so no activations are saved. Compile a training step with "
    "`grad=True` to see the effect of a memory budget."
)


def document(report: Report, context: ViewContext) -> Content:
    """Nothing at rest, but why there is nothing to count where that is seen at once."""
    why = explain_unknown_memory(report)
    empty = None if why is None else missing(report, "wrappers", "Memory is unknown.", why)
    has_budgets = any(report.memory_budgets.columns.get("is_own", ()))
    has_backward = any(wrapper.is_backward for wrapper in report.wrappers)
    why_not = {} if has_backward else dict.fromkeys(("budgets", "budget"), _NO_BACKWARD)
    return Content({"has_budgets": has_budgets}, empty=empty, why_not=why_not)


PANE = Pane("memory", "Memory", document)
