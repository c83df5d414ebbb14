"""What views call things, and how they write numbers and places."""

DOORS = {
    "progress_words": "Plain words and counts for a running compilation.",
    "record_words": "Display names for the parts of a report.",
}
"""What other rooms import of this one."""
