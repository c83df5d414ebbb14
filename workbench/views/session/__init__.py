"""How a session is shown: text, tables, a page and a view that is live while it records."""
