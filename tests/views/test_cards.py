"""Cards of the inspector: every field that a text or a fact names is one of its rows."""

from __future__ import annotations

import re
from typing import Any, get_type_hints

import pytest

from workbench.report import Report
from workbench.views.cards import CARDS, Card, list_cards
from workbench.views.document import document
from workbench.views.wire import (
    access_messages,
    artifact_messages,
    check_messages,
    gpu_messages,
    report_messages,
    stream_messages,
)

ROWS: dict[str, Any] = {
    "collectives": stream_messages.CollectiveRow,
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
EACH = [card for cards in CARDS.values() for card in cards]


@pytest.mark.parametrize("card", EACH, ids=lambda card: card.place)
def test_a_card_names_fields_of_its_rows_alone(card: Card) -> None:
    texts = [card.caption, card.title, card.label, card.says, *(card.tag or ())]
    texts += [text for _, text in card.parts]
    named = {name for text in texts for name in re.findall(r"\{(\w+)\}", text)}
    named |= {column.shows for column in card.facts}
    named |= {*card.ties, *card.leads, *(field for _, field in card.chips)}
    assert named <= set(get_type_hints(ROWS[card.place]))


def test_a_document_has_the_cards_of_its_rows_alone(sample_report: Report) -> None:
    shown = document(sample_report)
    assert set(shown["cards"]) >= {"saved", "phase", "choice"}
    assert "collective" not in shown["cards"]
    assert list_cards({}) == {}
