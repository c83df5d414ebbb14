"""What round trips, rivals, X-rays and short answers show."""

DOORS = {
    "alternatives_text": "Opportunities, cures and choices of the autotuner, in words.",
    "fragments": "Answers as HTML that needs no style sheet.",
    "roundtrip_answer": "A round trip and its ways.",
}
"""What other rooms import of this one."""
