"""torch's compiler driven and recorded: what imports torch, and what works for it."""
