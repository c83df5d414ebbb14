"""What matrices, ranked configurations and models of launches show."""
