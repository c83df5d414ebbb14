"""Work beside what runs, and how it tells what it does."""

DOORS = {
    "background_task": "Running or ended work: its progress, its result, cancelling.",
    "live_action": "What a live view can start, as data.",
    "progress_events": "Who is told which phase of some work begins or ends.",
}
"""What other rooms import of this one."""
