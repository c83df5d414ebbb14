"""What differs between two compilations, part by part."""

DOORS = {
    "difference": "Two compilations compared, with the questions that it answers.",
    "lineage": "The later nodes of each node within one compilation.",
    "report_comparison": "Compares two reports, or their captured graphs alone.",
}
"""What other rooms import of this one."""
