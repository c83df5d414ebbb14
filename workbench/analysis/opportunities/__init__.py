"""What to change in a compilation: rules over its report, each with a saving and its source."""

DOORS = {
    "opportunity": "One change, and what trying it saved.",
    "rehearsed_cures": "The results of rehearsed fixes of graph breaks.",
    "rules": "Every rule, and all that they find in a report.",
}
"""What other rooms import of this one."""
