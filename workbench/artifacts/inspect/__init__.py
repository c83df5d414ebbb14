"""What is in a file of any kind, learnt without executing it."""

DOORS = {
    "artifact_report": "The findings in a file, as rows, tables and text.",
    "inspection": "Inspects a file, or reads only what the file declares about itself.",
    "opcodes": "Lists the imports and calls of a pickle.",
}
"""What other rooms import of this one."""
