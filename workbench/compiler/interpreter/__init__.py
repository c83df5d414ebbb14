"""Runs programs that were generated for a GPU on the CPU, to compare what they compute."""
