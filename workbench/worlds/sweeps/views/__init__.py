"""What a sweep is looked at with: its table, its charts, its page."""

DOORS = {
    "sweep_page": "A sweep as charts, a page and a saved notebook output.",
    "sweep_tables": "The rows of a sweep as DataFrames, and written to CSV or Parquet files.",
    "sweep_view": "A sweep in a notebook, live while it runs.",
}
"""What other rooms import of this one."""
