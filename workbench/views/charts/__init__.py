"""The charts behind `Report.plot`, one file for each sort of drawing."""

DOORS = {
    "calls_chart": "The calls of kernels as a small picture.",
    "report_charts": "The charts of a report by their names.",
}
"""What other rooms import of this one."""
