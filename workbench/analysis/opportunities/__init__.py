"""What to change in a compilation: rules over its record, each with a saving and its source."""

DOORS = {
    "opportunity": "One thing to change, and what trying it has saved.",
    "rehearsed_cures": "What became of the cures of graph breaks that were rehearsed.",
    "rules": "Every rule, and what all of them find in a record.",
}
"""What other rooms import of this one."""
