"""What a program is expected to compile to, and what it did compile to."""
