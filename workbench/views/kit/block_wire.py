"""A document of blocks as the front end draws it; see `wire/block_messages.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import cast

from workbench.glossary import read_foreign_terms
from workbench.views.kit import blocks as shown
from workbench.views.kit.blocks import Block, Document, Section, Sentence, Table
from workbench.views.tables.column import Column, pack_table
from workbench.views.tables.column import Shown as ShownTable
from workbench.views.wire import block_messages as wire
from workbench.views.wire.codec import SMALL, pack

MOST_ROWS = 5000
"""Rows of one table in a view; what the block says gives all of them."""


def add_view(document: Document) -> Document:
    """The same document, which the front end draws in place of the blocks where a script runs."""
    return replace(document, pack=lambda _: pack_blocks(document))


def pack_blocks(document: Document) -> bytes:
    """What a page or a saved output carries of a document, for the front end to draw."""
    return pack(wire.EmbeddedBlocks(blocks=write_document(document)), SMALL)


def write_document(document: Document) -> wire.BlocksDocument:
    """The document as it travels."""
    made: wire.BlocksDocument = {
        "title": document.title,
        "facts": document.facts,
        "blocks": list_blocks(document.blocks),
    }
    if terms := read_foreign_terms():
        made["terms"] = {**terms}
    return made


def list_blocks(blocks: Iterable[Block]) -> list[wire.Block]:
    """The blocks as they travel, each table with a name of its own."""
    return list(_Writer().write_each(blocks))


class _Writer:
    def __init__(self) -> None:
        self._tables = 0

    def write_each(self, blocks: Iterable[Block]) -> Iterator[wire.Block]:
        """Every block; what only a page has is built."""
        for block in blocks:
            if isinstance(block, shown.OnPage):
                yield from self.write_each(block.build())
            elif isinstance(block, Table):
                yield self._write_table(block)
            elif isinstance(block, Section):
                yield {
                    "kind": "section",
                    "title": block.title,
                    "count": block.count,
                    "is_open": block.is_open,
                    "blocks": list(self.write_each(block.blocks)),
                }
            elif isinstance(block, shown.Fold):
                inner = list(self.write_each(block.blocks))
                yield {
                    "kind": "section",
                    "title": block.title,
                    "count": "",
                    "is_open": False,
                    "blocks": inner,
                }
            elif isinstance(block, shown.Few):
                yield from self.write_each(block.blocks)
            elif isinstance(block, shown.Card | shown.Listings):
                yield from self.write_each(_spell_out(block))
            elif isinstance(block, shown.Columns):
                yield {"kind": "columns", "blocks": list(self.write_each(block.blocks))}
            else:
                yield _write(block)

    def _write_table(self, block: Table) -> wire.TableBlock:
        self._tables += 1
        columns: tuple[Column, ...] = tuple(block.columns)
        kept = block.rows[:MOST_ROWS]
        own = ShownTable(f"t{self._tables}", block.title, columns, kept, "", "")
        packed = pack_table(own, MOST_ROWS)
        packed["more"] = len(block.rows) - len(kept) + block.omitted
        return {"kind": "table", "table": packed, "call": block.call, "is_open": block.is_open}


_PLAIN = (
    *(shown.Facts, shown.Tree, shown.Code),
    *(shown.Heading, shown.Changes, shown.Beside, shown.Chart, shown.Waterfall),
)
"""Blocks that travel with their fields as they are."""


def _write(block: Block) -> wire.Block:
    """A block without others in it."""
    if isinstance(block, _PLAIN):
        return cast(wire.Block, {"kind": type(block).__name__.lower(), **vars(block)})
    match block:
        case Sentence(text, look):
            return {"kind": "sentence", "text": text, "look": look}
        case shown.Items():
            return _write_items(block)
        case shown.Rows():
            return _write_rows(block)
        case shown.Heat():
            return _write_heat(block)
        case shown.Timeline():
            return _write_timeline(block)
        case shown.Action():
            return write_action(block)
        case shown.Own(name):
            return {"kind": "own", "name": name}
    raise TypeError(f"the front end cannot draw {type(block).__name__}")


def _spell_out(block: shown.Card | shown.Listings) -> Iterator[Block]:
    if isinstance(block, shown.Card):
        blocks = [shown.Code(block.code), *map(Sentence, block.texts)]
        hints = [shown.Items(block.hints)] if block.hints else []
        yield Section("", block.title, block.place, [*blocks, *hints], is_open=True)
        return
    for source in block.sources:
        title = f"{source['file']} {source['name']}"
        yield shown.Code("\n".join(source["lines"]), title, language="python")


def _write_items(block: shown.Items) -> wire.ItemsBlock:
    heads, codes = (part or [""] * len(block.texts) for part in (block.heads, block.codes))
    texts = [
        "\n".join(filter(None, (f"{head} {text}".strip(), code)))
        for head, text, code in zip(heads, block.texts, codes, strict=True)
    ]
    return {"kind": "items", "texts": texts, "title": block.title, "call": block.call}


def _write_rows(block: shown.Rows) -> wire.RecordBlock:
    return {
        "kind": "record",
        "table": block.table,
        "place": block.place or block.table,
        "title": block.title,
        "label": block.label or block.title,
        "frame": block.frame,
        "note": block.note,
        "none": block.none,
        "more": block.omitted,
        "seen": block.seen,
        "order": block.order,
    }


def _write_heat(block: shown.Heat) -> wire.HeatBlock:
    rows: Sequence[wire.HeatLine] = [
        {"label": row.label, "cells": [(cell.shade, cell.words) for cell in row.cells]}
        for row in block.map.rows
    ]
    return {
        "kind": "heat",
        "title": block.map.title,
        "caption": block.map.caption,
        "corner": block.map.corner,
        "columns": list(block.map.columns),
        "rows": list(rows),
        "is_open": block.is_open,
    }


def _write_timeline(block: shown.Timeline) -> wire.TimelineBlock:
    drawn = block.drawn
    return {
        "kind": "timeline",
        "title": block.title,
        "call": block.call,
        "first": drawn.first,
        "last": drawn.last,
        "scale": [(1 - y / drawn.height, words) for y, words in drawn.ticks],
        "bars": [
            {"words": bar.words, "marks": bar.marks, "heights": list(bar.heights)}
            for bar in drawn.bars
        ],
    }


def write_action(block: shown.Action) -> wire.ActionBlock:
    """An action as it travels."""
    action: wire.ActionBlock = {
        "kind": "action",
        "ask": block.ask,
        "words": block.words,
        "line": block.line,
    }
    if block.field is not None:
        action["field"] = {
            "name": block.field.name,
            "label": block.field.label,
            "text": block.field.text,
            "hint": block.field.hint,
            "command": block.field.command,
        }
    return action
