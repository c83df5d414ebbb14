"""Instructions explained: what each opcode and modifier does, with the document that says so."""

from workbench.specs.opcodes.opcode_words import Explanation, explain, explanations, opcodes_in

__all__ = ["Explanation", "explain", "explanations", "opcodes_in"]
