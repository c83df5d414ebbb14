"""The reference: what is public, every table, every message, every magic, every command."""

from __future__ import annotations

from docs.generate import commands, magics, messages, public, tables
from docs.generate.pages import Page


def pages() -> list[Page]:
    """Its pages in their order."""
    rooms = (public, tables, messages, magics, commands)
    return [page for room in rooms for page in room.pages()]
