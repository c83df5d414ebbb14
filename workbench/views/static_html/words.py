"""What remarks are called and the signs beside them: one table for every view."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "captured": "Captured",
    "break": "Graph break",
    "fallback": "Fallback",
    "folded": "Constant-folded",
    "outside": "Runs in Python",
}
"""By the state of a line; a document carries them to the front end."""
SIGNS: Mapping[str, str] = {
    "captured": "✓",
    "break": "↯",
    "fallback": "↗",
    "folded": "=",
    "outside": "–",
    "plain": "•",
    "": " ",
}
