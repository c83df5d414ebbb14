"""Child processes: what is sent to them, what comes back."""
