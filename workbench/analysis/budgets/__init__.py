"""Activation memory budgets of a training step: what each costs, and how to write it."""

DOORS = {
    "budget_code": "The code for a budget.",
    "budgets": "The saved bytes, recomputation and peak of each budget.",
}
"""What other rooms import of this one."""
