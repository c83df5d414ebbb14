"""Instructions explained: what each opcode and modifier does, with the document that says so."""

from workbench.specs.opcodes.explaining import Explanation, explain, explanations, opcodes_in

__all__ = ["Explanation", "explain", "explanations", "opcodes_in"]
