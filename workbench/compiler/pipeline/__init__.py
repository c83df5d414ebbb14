"""The named steps of a compilation, from the request to what they leave behind."""

DOORS = {
    "explain": "Finds every graph break of a call, by running it under Dynamo.",
    "modes": "Merges the user's Inductor options with those of a mode.",
    "pipeline": "Compiles ahead of time in named steps, and records the step that fails.",
}
"""What other rooms import of this one."""
