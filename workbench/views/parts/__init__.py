"""What a view asks for by name: graphs, code, tables, and what is made only then."""

DOORS = {
    "fusion_part": "The parts `fusion:` and `pairs:`, with fused and unfused kernels.",
    "memory_part": "The parts `memory:` and `budgets:`, with live bytes and memory budgets.",
    "report_parts": "Every part of a report, built on request.",
}
"""What other rooms import of this one."""
