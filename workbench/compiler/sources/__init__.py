"""The traced functions, their lines, torch's sizes and messages; nothing here imports torch."""

DOORS = {
    "dynamo_messages": "Dynamo's messages about breaks, refused inputs and guards.",
    "size_symbols": "The meaning of torch's size symbols.",
    "sources": "The traced functions: where their lines are, with text.",
}
"""What other rooms import of this one."""
