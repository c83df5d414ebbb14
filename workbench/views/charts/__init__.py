"""The charts behind `Report.plot`, one file for each sort of drawing."""
