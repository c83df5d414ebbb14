"""What is in a file of any kind, learnt without executing it."""

DOORS = {
    "artifact_report": "What was found in a file: rows, tables, texts.",
    "inspection": "Looks inside a file, or reads only what it says about itself.",
    "opcodes": "What a pickle would import and call.",
}
"""What other rooms import of this one."""
