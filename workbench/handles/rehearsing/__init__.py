"""Cures of graph breaks, each applied to a copy, captured again, run and compared."""

DOORS = {
    "live_cures": "Tries fixes for the graph breaks of a live call from a view.",
    "refused_call": "Runs a call in eager after torch refused to compile it.",
    "rehearse": "Tries fixes for graph breaks: one, each separately, or all helpful ones together.",
}
"""What other rooms import of this one."""
