"""Blocks as HTML, in one of two skins: classes for a page, inline styles for a notebook."""
