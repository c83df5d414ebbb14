"""The texts that compilers for GPUs write, read into tables."""
