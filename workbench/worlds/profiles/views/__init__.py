"""A profile of a device as text, tables and sentences."""

DOORS = {
    "profile_page": "A profile as a page and as what a notebook keeps.",
}
"""What other rooms import of this one."""
