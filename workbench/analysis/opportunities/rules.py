"""The rules in one list, and what they find in a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from workbench.analysis.opportunities.capture_rules import find_recompilations, graph_breaks
from workbench.analysis.opportunities.copies import (
    find_channels_last,
    find_copied_matrices,
    find_padded_matrices,
)
from workbench.analysis.opportunities.dtype_rules import (
    find_float64,
    find_half_precision,
    find_tf32,
)
from workbench.analysis.opportunities.gradient_rules import find_unneeded_gradients
from workbench.analysis.opportunities.growing_tensors import find_growing_tensors
from workbench.analysis.opportunities.launch_rules import (
    cuda_graphs,
    find_fixed_sizes,
    find_independent_kernels,
    find_products_with_neighbours,
)
from workbench.analysis.opportunities.layer_rules import find_single_layers
from workbench.analysis.opportunities.operator_rules import (
    find_attention_by_hand,
    find_complex_numbers,
    find_topk_of_one,
)
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.overlap_rules import (
    find_exposed_collectives,
    find_mergeable_collectives,
)
from workbench.analysis.opportunities.positions import find_logits_of_all_positions
from workbench.analysis.opportunities.rule_facts import Facts
from workbench.analysis.opportunities.waste_rules import (
    find_converted_weights,
    find_evaluated_again,
    find_parts_that_hold_the_whole,
)
from workbench.report import Report

Rule = Callable[[Facts], Iterator[Opportunity]]

RULES: tuple[Rule, ...] = (
    graph_breaks,
    find_recompilations,
    find_unneeded_gradients,
    find_copied_matrices,
    find_channels_last,
    find_padded_matrices,
    find_topk_of_one,
    find_complex_numbers,
    find_attention_by_hand,
    find_growing_tensors,
    find_float64,
    find_half_precision,
    find_tf32,
    find_products_with_neighbours,
    find_independent_kernels,
    cuda_graphs,
    find_fixed_sizes,
    find_logits_of_all_positions,
    find_converted_weights,
    find_parts_that_hold_the_whole,
    find_evaluated_again,
    find_single_layers,
    find_exposed_collectives,
    find_mergeable_collectives,
)
"""Every rule; each has a test where it helps by measurement, and one where it is silent.

Coordinate descent tuning is not among them: it times neighbouring configurations on the GPU when a
kernel first runs, and a report without such times cannot show whether one is faster.
"""


def opportunities(report: Report) -> list[Opportunity]:
    """All opportunities, the biggest saving first, those with an unknown saving last."""
    return list(report.once(_rank)[0])


def list_left_out(report: Report) -> list[str]:
    """What rules found and do not propose, because it would save too little."""
    return list(report.once(_rank)[1])


def _rank(report: Report) -> tuple[tuple[Opportunity, ...], tuple[str, ...]]:
    facts = Facts(report)
    opportunities = [opportunity for rule in RULES for opportunity in rule(facts)]
    ranked = sorted(opportunities, key=lambda opportunity: opportunity.rank)
    found = (replace(opportunity, id=f"o{number}") for number, opportunity in enumerate(ranked))
    return tuple(found), tuple(facts.left_out)
