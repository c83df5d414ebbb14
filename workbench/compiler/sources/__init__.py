"""The traced functions, their lines, torch's sizes and messages; nothing here imports torch."""

DOORS = {
    "dynamo_messages": "Reads Dynamo's messages about breaks, refused inputs and guards.",
    "size_symbols": "Explains torch's size symbols.",
    "sources": "Finds the source text and lines of traced functions.",
}
"""What other rooms import of this one."""
