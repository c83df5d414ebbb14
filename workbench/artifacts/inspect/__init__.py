"""What is in a file of any kind, learnt without executing it."""

DOORS = {
    "artifact_report": "Findings in a file: rows, tables, texts.",
    "inspection": "Looks inside a file, or reads only what it says about itself.",
    "opcodes": "Imports and calls of a pickle.",
}
"""What other rooms import of this one."""
