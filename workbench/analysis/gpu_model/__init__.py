"""What a GPU can do with a kernel, by models; nothing is run."""
