"""What differs between two compilations, part by part."""

DOORS = {
    "difference": "Two compilations compared, as a record that answers.",
    "lineage": "What became of nodes within one compilation.",
    "report_comparison": "Compares two reports, or their captured graphs alone.",
}
"""What other rooms import of this one."""
