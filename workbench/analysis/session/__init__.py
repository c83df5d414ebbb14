"""What the record of a running program says: why frames were compiled again, what to change."""
