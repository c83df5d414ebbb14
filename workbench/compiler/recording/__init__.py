"""What torch does during a compilation, recorded as the tables of a report."""
