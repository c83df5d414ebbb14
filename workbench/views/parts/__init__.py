"""What a view asks for by name: graphs, code, tables, and what is made only then."""

DOORS = {
    "fusion_part": "The parts `fusion:` and `pairs:`: what runs as one kernel, what does not.",
    "memory_part": "The parts `memory:` and `budgets:`: live bytes, memory budgets of a step.",
    "report_parts": "Every part of a report, built when it is asked for.",
}
"""What other rooms import of this one."""
