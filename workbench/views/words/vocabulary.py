"""What became of a line, in words with a sign beside them: one table for every view."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "captured": "Captured",
    "break": "Graph break",
    "fallback": "Fallback",
    "folded": "Constant-folded",
    "outside": "Runs in Python",
    "plain": "",
}
"""By the state of a line; `typescript.py` writes the same table to the front end."""
SIGNS: Mapping[str, str] = {
    "captured": "✓",
    "break": "↯",
    "fallback": "↗",
    "folded": "=",
    "outside": "–",
    "plain": "•",
}
