"""Packages in this process: opened, checked, driven through the C interface, swapped."""
