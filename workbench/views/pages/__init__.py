"""Pages that open from disk, and what a notebook keeps of a view."""
