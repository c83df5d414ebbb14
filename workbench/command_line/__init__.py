"""The command `workbench`: records, files and programs without a notebook."""
