"""Sweeps: one function compiled and measured under many settings, and which of them to take."""
