"""Packages as they are made: here, for a GPU that is not here, as one of several variants."""
