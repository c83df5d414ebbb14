"""Activation memory budgets of a training step: what each costs, and how to write it."""

DOORS = {
    "budget_code": "The code that sets a budget.",
    "budgets": "The saved bytes, the recomputation and the peak memory of each budget.",
}
"""What other rooms import of this one."""
