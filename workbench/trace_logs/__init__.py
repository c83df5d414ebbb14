"""Logs that torch wrote under `TORCH_TRACE`, read without torch."""
