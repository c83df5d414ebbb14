"""Equal layers of a model, which torch compiles one by one."""

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
"""Equal layers from which on it is said: of four, half of the time is all else."""
_MEASURED = (
    "measured for Llama-3-8B on a virtual H100, 32 layers: 8 instead of 30 s of CPU time for "
    "inference, with 520 instead of 493 launches, 22 instead of 57 s for a training step"
)


def find_single_layers(facts: Facts) -> Iterator[Opportunity]:
    """Many equal layers of one list, each compiled by itself: the time of compiling, not a call."""
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
            text=f"Have the {len(numbers)} equal layers {layers} compiled once: "
            f"torch.compiler.nested_compile_region marks the layer's forward.{_took(facts)} A call "
            "does the same work, but no kernel is fused across the end of a layer: a few more "
            "launches for each.",
            sure="measured elsewhere",
            source=f"counted: layers with the same operators of the same sizes; {_MEASURED}",
            after=(
                "@torch.compiler.nested_compile_region",
                f"def forward(self, hidden):  # of the class of {first}",
            ),
        )


def _took(facts: Facts) -> str:
    """How long torch took for this program, where the record has its phases."""
    seconds = measure_compile_seconds((p.start_s, p.duration_s) for p in facts.report.phases)
    if seconds is None:
        return ""
    return f" Compiling took {number_text(seconds, 'seconds')}, most of it for each layer anew."
