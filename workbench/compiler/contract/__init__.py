"""What a compiled function was asked for, what it takes and how a call is checked."""
