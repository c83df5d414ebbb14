"""The reference: what is public, every table, every message, every magic."""

from __future__ import annotations

from docs.generate import magics, messages, public, tables
from docs.generate.readme import Page


def pages() -> list[Page]:
    """Its pages in their order."""
    return [*public.pages(), *tables.pages(), *messages.pages(), *magics.pages()]
