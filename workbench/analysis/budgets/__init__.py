"""Activation memory budgets of a training step: what each costs, and how to write it."""

DOORS = {
    "budget_code": "What to write for a budget.",
    "budgets": "What each budget saves, computes again, and peaks at.",
}
"""What other rooms import of this one."""
