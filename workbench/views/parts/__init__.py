"""What a view asks for by name: graphs, code, tables, and what is made only then."""

DOORS = {
    "budgets_part": "The part `budgets:`: activation memory budgets of a training step.",
    "memory_part": "The part `memory:`: live bytes over the steps of a call.",
    "report_parts": "Every part of a report, built when it is asked for.",
}
"""What other rooms import of this one."""
