"""The tables of a record as DataFrames, and the columns that views show."""
