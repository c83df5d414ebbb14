"""The code for an activation memory budget: for a step, a region, or layers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from workbench.analysis.budgets.budgets import Budgets
from workbench.analysis.layers.layers import layer_list
from workbench.analysis.memory.timeline import is_on_cpu
from workbench.report import Report
from workbench.report.record import select_parts

_OPTION = "activation_memory_budget"
_REGION = "torch.autograd.graph.region_activation_memory_budget"
_HEAVY = re.compile(
    r"aten\.(?:mm|addmm|bmm|baddbmm|convolution|_scaled_dot_product_\w+|_scaled_mm|_grouped_mm)\."
)
"""What a policy saves: matmuls, convolutions, attention."""


@dataclass(frozen=True)
class Snippet:
    """Code to paste, with a `note` on where to use it."""

    title: str
    text: str
    note: str


def write_step_code(budget: float, roofline_of: str | None = None) -> str:
    """The code for all later compilations; with the GPU whose roofline decides."""
    imported = "import torch._functorch.config\n"
    text = f"# before the step is compiled\ntorch._functorch.config.{_OPTION} = {budget:g}"
    if roofline_of is None:
        return f"{imported}\n{text}"
    chosen = f'workbench.roofline_estimator("{roofline_of}")'
    option = f"{text}\ntorch._functorch.config.{_OPTION}_runtime_estimator = {chosen}"
    return f"{imported}import workbench\n\n{option}"


def snippets(report: Report, budgets: Budgets, budget: float) -> tuple[Snippet, ...]:
    """The code for a budget; none for the step's own budget, or one that must not be used.

    A checkpoint's policy chooses by operator: it saves the results of matmuls if the budget
    recomputes less than half of them. Torch refuses a region (2.13: "forward op(s) are
    unannotated") if random seeds or writes to buffers were put into the graph.
    """
    point = budgets.at(budget)
    if not point.recomputed or point.why_not or budget == budgets.own:
        return ()
    step = Snippet(
        "For the step",
        write_step_code(budget, budgets.roofline_of),
        "It applies to all later compilations.",
    )
    region = Snippet(
        "For one forward",
        "import torch\n\n\n@torch.compile\ndef step(*args, **kwargs):\n"
        f"    with {_REGION}({budget:g}):\n        return model(*args, **kwargs)",
        "`model` is yours. Put this `with` block around the whole body of the compiled function. "
        "It does nothing outside compiled code, and torch refuses two budgets in one graph.",
    )
    regions = () if _draws(report) or _has(report, "aten.copy_.default") else (region,)
    return (step, *regions, *_policy(report, budgets, budget))


def _policy(report: Report, budgets: Budgets, budget: float) -> tuple[Snippet, ...]:
    layers = layer_list(report)
    # Inductor keeps the seed, but two of Triton's kernels may number the elements of one mask in
    # two ways
    if layers is None or (_draws(report) and not is_on_cpu(report)):
        return ()
    again = Counter(row.operator for row in budgets.recomputed if row.budget == budget)
    kept = [op for op, count in _heavy(report, layers).items() if 2 * again[op] < count]
    lines = ["from torch.utils.checkpoint import checkpoint"]
    more = ""
    if kept:
        lines[:0] = ["from functools import partial", "", "import torch"]
        lines[-1:] = [
            "from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts",
            "",
            "kept = [",
            *(f"    torch.ops.{op}," for op in kept),
            "]",
            "save = partial(create_selective_checkpoint_contexts, kept)",
        ]
        more = ", context_fn=save"
    holder, _, name = layers.rpartition(".")
    lines += ["", f"for layer in self.{name}:"]
    lines.append(f"    x = checkpoint(layer, x, use_reentrant=False{more})")
    what = "the listed results" if kept else "the inputs of each layer"
    note = (
        f"In the forward of {holder or 'the module'}, where self.{name} are the layers {layers} "
        f"and x is their input. It saves {what} and recomputes the rest of a layer. It selects "
        "operators, while the budget selects values, so the savings are similar but not equal. "
        "A layer must not write in place; add any other arguments that your layers take."
    )
    return (Snippet("For each layer, with torch.utils.checkpoint", "\n".join(lines), note),)


def _draws(report: Report) -> bool:
    """Whether Inductor draws random numbers from a seed of its own."""
    return _has(report, "inductor_rand")


def _has(report: Report, words: str) -> bool:
    return any(words in target for target in report.nodes.columns.get("target", ()))


def _heavy(report: Report, layers: str) -> Counter[str]:
    """How many matmuls the layers have in the forward pass, by operator."""
    last = next((g.id for g in reversed(list(report.graphs)) if g.stage == "forward"), None)
    rows = select_parts(report.nodes, "graph", {last}, ("target", "module_path"))
    inside = (target for target, path in rows if (path or "").startswith(f"{layers}."))
    return Counter(target for target in inside if _HEAVY.match(target))
