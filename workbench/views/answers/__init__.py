"""What round trips, rivals, X-rays and short answers show."""

DOORS = {
    "alternatives_text": "Opportunities, fixes and autotuner choices as text.",
    "fragments": "Answers as HTML that needs no style sheet.",
    "roundtrip_answer": "A round trip and its start-up modes.",
}
"""What other rooms import of this one."""
