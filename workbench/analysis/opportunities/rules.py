"""The rules in one list, and what they find in a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from workbench.analysis.opportunities.capture_rules import graph_breaks, recompilations
from workbench.analysis.opportunities.copies import (
    channels_last,
    copied_matrices,
    padded_matrices,
)
from workbench.analysis.opportunities.dtype_rules import (
    float64_that_creeps_in,
    half_precision,
    tf32,
)
from workbench.analysis.opportunities.joining import tensors_that_grow
from workbench.analysis.opportunities.launching import (
    cuda_graphs,
    fixed_sizes,
    independent_kernels,
    products_with_neighbours,
)
from workbench.analysis.opportunities.layer_rules import layers_compiled_one_by_one
from workbench.analysis.opportunities.operator_rules import (
    attention_by_hand,
    complex_numbers,
    largest_by_topk,
)
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.positions import logits_of_all_positions
from workbench.analysis.opportunities.rule_facts import Facts
from workbench.analysis.opportunities.waste_rules import (
    converted_weights,
    evaluated_again,
    parts_that_hold_the_whole,
)
from workbench.report import Report

Rule = Callable[[Facts], Iterator[Opportunity]]

RULES: tuple[Rule, ...] = (
    graph_breaks,
    recompilations,
    copied_matrices,
    channels_last,
    padded_matrices,
    largest_by_topk,
    complex_numbers,
    attention_by_hand,
    tensors_that_grow,
    float64_that_creeps_in,
    half_precision,
    tf32,
    products_with_neighbours,
    independent_kernels,
    cuda_graphs,
    fixed_sizes,
    logits_of_all_positions,
    converted_weights,
    parts_that_hold_the_whole,
    evaluated_again,
    layers_compiled_one_by_one,
)
"""Every rule; each has a test where it helps by measurement, and one where it is silent.

Coordinate descent tuning is none of them: it times neighbouring configurations of a kernel on the
GPU when the kernel first runs, and a record without such times does not say whether one is faster.
"""


def opportunities(report: Report) -> list[Opportunity]:
    """What could be changed, biggest saving first; what nothing is known of comes last."""
    return list(report.once(_ranked))


def _ranked(report: Report) -> tuple[Opportunity, ...]:
    facts = Facts(report)
    found = [made for rule in RULES for made in rule(facts)]
    ranked = sorted(found, key=lambda made: made.rank)
    return tuple(replace(made, id=f"o{number}") for number, made in enumerate(ranked))
