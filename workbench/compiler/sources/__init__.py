"""The traced functions, their lines and the texts of graph nodes; nothing here imports torch."""
