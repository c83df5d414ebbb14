"""A sweep as a table: what it measured, which setting to take."""
