"""What differs between two compilations, part by part."""

DOORS = {
    "difference": "The comparison of two compilations, with methods that query it.",
    "lineage": "Maps each node to the nodes of later stages that it became.",
    "report_comparison": "Compares two reports, or their captured graphs alone.",
}
"""What other rooms import of this one."""
