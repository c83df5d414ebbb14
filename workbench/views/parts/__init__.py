"""What a view asks for by name: graphs, code, tables, and what is made only then."""

DOORS = {
    "fusion_part": "Builds the parts `fusion:` and `pairs:`, with fused and unfused kernels.",
    "memory_part": "Builds the parts `memory:` and `budgets:`, with live bytes and memory budgets.",
    "report_parts": "Builds any part of a report on request.",
}
"""What other rooms import of this one."""
