"""What views call things, and how they write numbers and places."""

DOORS = {
    "progress_words": "What a running compilation does, in plain words with counts.",
    "record_words": "What views call the things of a record.",
}
"""What other rooms import of this one."""
