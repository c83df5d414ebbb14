"""Identical layers of a model, which torch compiles one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from workbench.analysis.layers.layers import format_numbers, read_layer_signatures
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts
from workbench.number_text import number_text
from workbench.report.measures import measure_compile_seconds

_INVOKED = "invoke_subgraph"
_FEWEST = 8
"""The fewest identical layers for the advice: with four, the rest takes half of the time."""
MEASURED = (
    "Llama-3-8B (32 layers) for a virtual H100 compiled in 8.5 s instead of 26.3 s, its training "
    "step in 20.6 s instead of 61.3 s"
)
"""The benchmark of the advice, in seconds of wall time."""


def find_single_layers(facts: Facts) -> Iterator[Opportunity]:
    """Many identical layers of one list, each compiled by itself, which costs compile time."""
    if facts.report.request.backend != "inductor":
        return
    equal: dict[tuple[str, object], list[int]] = defaultdict(list)
    for (name, number), does in facts.report.once(read_layer_signatures).items():
        is_within = any(part.isdecimal() for part in name.split("."))
        if not is_within and not any(_INVOKED in str(node) for node in does):
            equal[name, does].append(number)
    for (name, _), numbers in equal.items():
        if len(numbers) < _FEWEST:
            continue
        layers, first = (
            f"{name}.{number}".lstrip(".")  # the list may be the model itself
            for number in (format_numbers(sorted(numbers)), min(numbers))
        )
        yield Opportunity(
            id="",
            rule="equal-layers",
            kind="rewrite",
            text=f"Compile the {len(numbers)} identical layers {layers} once: decorate the layer's "
            f"forward with torch.compiler.nested_compile_region.{_took(facts)} Kernels no longer "
            "fuse across layers, which adds a few launches per layer.",
            sure="measured elsewhere",
            source="counted: layers that have the same operators with the same sizes. Measured: "
            f"{MEASURED}",
            after=(
                "@torch.compiler.nested_compile_region",
                f"def forward(self, hidden):  # of the class of {first}",
            ),
        )


def _took(facts: Facts) -> str:
    """The compile time of this program, if the report has its phases."""
    seconds = measure_compile_seconds((p.start_s, p.duration_s) for p in facts.report.phases)
    if seconds is None:
        return ""
    return f" Compilation took {number_text(seconds, 'seconds')}, mostly on identical layers."
