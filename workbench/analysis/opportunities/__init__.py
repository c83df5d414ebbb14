"""What to change in a compilation: rules over its record, each with a saving and its source."""
