"""What to change in a compilation: rules over its report, each with a saving and its source."""

DOORS = {
    "opportunity": "One possible change, and the saving that a trial found.",
    "rehearsed_cures": "The results of trying fixes for graph breaks.",
    "rules": "All rules, and the opportunities that they find in a report.",
}
"""What other rooms import of this one."""
