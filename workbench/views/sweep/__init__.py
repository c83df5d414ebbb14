"""What a sweep is looked at with: its table, its charts, its page."""
