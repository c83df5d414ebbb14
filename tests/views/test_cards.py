"""Cards of the inspector: every field that a text or a fact names is one of its rows."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, get_args, get_type_hints

import pytest

from workbench.report import Report
from workbench.views.cards import find_cards, list_cards
from workbench.views.document import document
from workbench.views.kit.card import Card
from workbench.views.wire import (
    access_messages,
    artifact_messages,
    check_messages,
    gpu_messages,
    report_messages,
)
from workbench.worlds.world import list_worlds

ROWS: dict[str, Any] = {
    "accesses": access_messages.Access,
    "check_findings": check_messages.CheckFinding,
    "phases": report_messages.Phase,
    "choices": report_messages.Choice,
    "ranked": gpu_messages.Ranked,
    "cuda_graphs.parts": gpu_messages.CudaGraph,
    "file.members": artifact_messages.Member,
    "file.requirements": artifact_messages.Requirement,
    "file.contract": artifact_messages.ContractLeaf,
    "file.leaves": artifact_messages.TripLeaf,
}
CARDS = [card for cards in find_cards().values() for card in cards]


def find_rows(place: str) -> Any:
    """The type of the rows at a place of the document, which a world may add."""
    if place in ROWS:
        return ROWS[place]
    for world in list_worlds():
        if (world.folder / "views" / "messages.py").exists():
            messages = import_module(f"workbench.worlds.{world.name}.views.messages")
            rows = get_type_hints(messages.Document).get(place)
            if rows is not None:
                return get_args(rows)[0]
    raise KeyError(place)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.place)
def test_a_card_names_fields_of_its_rows_alone(card: Card) -> None:
    texts = [card.caption, card.title, card.label, card.says, *(card.tag or ())]
    texts += [text for _, text in card.parts]
    named = {name for text in texts for name in re.findall(r"\{(\w+)\}", text)}
    named |= {column.shows for column in card.facts}
    named |= {*card.ties, *card.leads, *(field for _, field in card.chips)}
    assert named <= set(get_type_hints(find_rows(card.place)))


def test_a_document_has_the_cards_of_its_rows_alone(sample_report: Report) -> None:
    shown = document(sample_report)
    assert set(shown["cards"]) >= {"saved", "phase", "choice"}
    assert "collective" not in shown["cards"]
    assert list_cards({}) == {}
