"""Live views in a notebook."""
