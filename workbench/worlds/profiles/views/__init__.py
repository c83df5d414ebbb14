"""A profile of a device as text, tables and sentences."""

DOORS = {
    "profile_page": "A profile as a page and as a notebook output.",
}
"""What other rooms import of this one."""
