"""The charts behind `Report.plot`, one file for each sort of drawing."""

DOORS = {
    "calls_chart": "Draws a small diagram of the kernel calls.",
    "report_charts": "Draws the charts of a report by name.",
}
"""What other rooms import of this one."""
