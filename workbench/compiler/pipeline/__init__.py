"""The named steps of a compilation, from the request to what they leave behind."""

DOORS = {
    "explain": "Finds every graph break of a call, by running it under Dynamo.",
    "modes": "Inductor's options as users write them, merged with those of a mode.",
    "pipeline": "Compiles ahead of time in named steps; a failing one is recorded, then raised.",
}
"""What other rooms import of this one."""
