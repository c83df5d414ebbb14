"""Zip files of artifacts and packages: read, checked and written."""
