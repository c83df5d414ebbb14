"""What views call things, and how they write numbers and places."""

DOORS = {
    "guard_phrases": "Describes in plain words what guards compare.",
    "progress_words": "Describes the progress of a running compilation in plain words and counts.",
    "record_words": "Display names for the parts of a report.",
}
"""What other rooms import of this one."""
