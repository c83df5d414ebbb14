"""What a pane says in its sentences, as the blocks of its tab have them."""

from __future__ import annotations

from workbench.views.wire import report_messages as wire


def list_sentences(document: wire.Document, pane: str) -> list[str]:
    """The sentences of a pane in their order."""
    (head,) = (head for head in document["panes"] if head["id"] == pane)
    return [block["text"] for block in head["blocks"] if block["kind"] == "sentence"]


def read_first(document: wire.Document, pane: str) -> str:
    """The sentence that a pane opens with; empty where it has none."""
    return next(iter(list_sentences(document, pane)), "")
