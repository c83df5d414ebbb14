"""How a session is shown: text, tables, a page and a view that is live while it records."""

DOORS = {
    "session_page": "A session as a page and as a notebook output.",
    "session_view": "A session in a notebook, live while it records.",
}
"""What other rooms import of this one."""
