"""What round trips, rivals, X-rays and short answers show."""

DOORS = {
    "alternatives_text": "Writes opportunities, fixes and autotuner choices as text.",
    "fragments": "Writes short results as HTML that needs no style sheet.",
    "roundtrip_answer": "Shows a round trip and its start-up modes.",
}
"""What other rooms import of this one."""
