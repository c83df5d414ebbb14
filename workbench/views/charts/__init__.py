"""The charts behind `Report.plot`, one file for each sort of drawing."""

DOORS = {
    "calls_chart": "Kernel calls as a small picture.",
    "report_charts": "The charts of a report by name.",
}
"""What other rooms import of this one."""
