"""What views call things, and how they write numbers and places."""

DOORS = {
    "progress_words": "Plain words and counts for a running compilation.",
    "record_words": "The names of a report's things in views.",
}
"""What other rooms import of this one."""
