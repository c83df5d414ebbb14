"""A profile of a device as text, tables and sentences."""

DOORS = {
    "profile_page": "A profile as a page and as what a notebook keeps.",
    "profile_view": "A profile as a widget.",
    "profile_answer": "A profile as text, in sentences and as tables.",
}
"""What other rooms import of this one."""
