"""What views call things, and how they write numbers and places."""

DOORS = {
    "guard_phrases": "Describes what guards compare in plain words.",
    "progress_words": "Describes the progress of a running compilation in plain words and counts.",
    "record_words": "Display names for the parts of a report.",
}
"""What other rooms import of this one."""
