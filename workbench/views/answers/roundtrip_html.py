"""A round trip as HTML, for a notebook's output."""

from __future__ import annotations

from workbench.report.roundtrip import RoundTrip
from workbench.views.panes.artifact import ways
from workbench.views.static_html.others import trip_summary


def fragment(trip: RoundTrip) -> str:
    """The ways side by side and the phases of each that ran; no script, no style sheet."""
    found = ways(trip.ways, trip.phases)
    return trip_summary(trip.name, trip.size, found, trip.notes, ok=trip.ok)
