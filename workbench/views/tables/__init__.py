"""The tables of a record as DataFrames, and the columns that views show."""

DOORS = {
    "column": "The column and table types of live and static views.",
    "columns": "The columns of every table in a view.",
    "data_frames": "The tables of a report, and the GPUs, as pandas DataFrames.",
}
"""What other rooms import of this one."""
