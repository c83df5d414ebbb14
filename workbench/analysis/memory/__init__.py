"""What a compiled program holds in memory while it runs, read from its generated text."""
