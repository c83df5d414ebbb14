"""From report to report: what can be computed from the record alone."""
