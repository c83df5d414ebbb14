"""What round trips, rivals, X-rays and short answers show."""

DOORS = {
    "alternatives_text": "Opportunities, cures and choices of the autotuner, in words.",
    "fragments": "Answers as HTML that needs no style sheet.",
    "roundtrip_text": "A round trip in words.",
}
"""What other rooms import of this one."""
