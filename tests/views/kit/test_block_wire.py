"""A document of blocks as the front end gets it."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import Any

import pytest
from wire_types import mismatches

from tests.views.kit.test_blocks import DRAWN, EACH
from workbench.report.presenter import Presented
from workbench.views import presenters
from workbench.views.kit.block_wire import MOST_ROWS, add_view, list_blocks, pack_blocks
from workbench.views.kit.blocks import Block, Document, OnPage, Section, Sentence, Table, Timeline
from workbench.views.kit.shown import Shown
from workbench.views.static_html.render import write_page
from workbench.views.tables.column import Column
from workbench.views.wire import block_messages as wire

BLOCKS = [*(block for block, _ in EACH), Timeline("Steps", ".plot()", DRAWN)]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda each: type(each).__name__)
def test_every_block_travels_as_the_wire_says(block: Block) -> None:
    (made,) = json.loads(json.dumps(list_blocks([block])))
    kinds = {
        kind.__annotations__["kind"].__forward_arg__[9:-2]: kind for kind in wire.Block.__args__
    }
    assert mismatches(made, kinds[made["kind"]]) == []


def test_what_only_a_page_has_travels_too() -> None:
    blocks = [Section("a", "A", "1", [OnPage(lambda: [Sentence("built")])])]
    (section,) = list_blocks(blocks)
    assert section["kind"] == "section"
    assert section["blocks"] == [{"kind": "sentence", "text": "built", "look": "plain"}]


def test_rows_keep_their_order_and_their_numbers_and_what_is_left_out_is_counted() -> None:
    columns = (
        Column("Name", "name"),
        Column("Size", "size", "B"),
        Column("Parts", "parts", "length"),
        Column("Far", "far", "eps"),
    )
    rows = [
        {"name": f"r{n}", "size": n * 1000.123456, "parts": [1] * n, "far": float("inf")}
        for n in range(MOST_ROWS + 2)
    ]
    (made,) = list_blocks([Table("Rows", columns, rows, ".frame()", omitted=3)])
    assert made["kind"] == "table"
    table = made["table"]
    assert (len(table["rows"]), table["more"]) == (MOST_ROWS, 5)
    assert table["rows"][2] == {
        **{"name": "r2", "size": 2000.2, "parts": 2, "far": "inf"},
        "row": "t1:2",
    }
    assert table["columns"][1]["unit"] == "B"


def test_two_tables_have_names_of_their_own() -> None:
    table = Table("Rows", (Column("Name", "name"),), [{"name": "a"}])
    ids = [each["table"]["id"] for each in list_blocks([table, table]) if each["kind"] == "table"]
    assert ids == ["t1", "t2"]


def test_a_block_that_the_front_end_does_not_know_is_refused() -> None:
    class Strange(Block):
        pass

    with pytest.raises(TypeError, match="cannot draw Strange"):
        list_blocks([Strange()])


def test_a_new_kind_has_an_interactive_page_by_its_document_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @dataclass(frozen=True, repr=False)
    class Guess(Presented):
        """A record that nothing else knows."""

        words: str

    def build(record: Any) -> Document:
        return add_view(Document("A guess", [Sentence(record.words)]))

    monkeypatch.setattr(presenters, "find_file", {"Guess": {"Guess": Shown(document=build)}}.get)
    page = write_page(build(Guess("It rains.")))
    assert 'class="wb-record"' in page
    packed = json.loads(gzip.decompress(pack_blocks(build(Guess("It rains.")))))
    assert packed["blocks"]["blocks"] == [
        {"kind": "sentence", "text": "It rains.", "look": "plain"}
    ]
