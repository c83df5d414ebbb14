"""Handles of programs that run under plain torch.compile."""
