"""Work beside what runs, and how it tells what it does."""

DOORS = {
    "background_task": "A background task: its progress, its result and how to cancel it.",
    "live_action": "The actions that a live view can start, as data.",
    "progress_events": "Notifies listeners when a phase begins or ends.",
}
"""What other rooms import of this one."""
