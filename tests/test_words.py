"""Sentences are written as a PyTorch engineer writes: few break a rule, and never more."""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.words.rules import list_hits
from tests.words.sentences import Sentence, list_sentences, read_markdown
from workbench.command_line.main import main

MOST = {
    "README": 0.00,
    "CHANGELOG": 0.00,
    "CONTRIBUTING": 0.04,
    "about": 0.00,
    "guide": 0.00,
    "notebook": 0.00,
    "output": 0.31,
    "error": 0.02,
    "sentence": 0.02,
    "docstring": 0.05,
    "term": 0.01,
    "front end": 0.00,
}
"""The share of the sentences of a kind that breaks a rule; it only goes down."""


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    """Every sentence of this checkout."""
    return list_sentences()


@pytest.mark.parametrize("kind", MOST)
def test_few_sentences_break_a_rule(kind: str, sentences: list[Sentence]) -> None:
    own = [sentence for sentence in sentences if sentence.kind == kind]
    broken = {sentence.text: hits for sentence in own if (hits := [*list_hits(sentence)])}
    assert len(broken) <= MOST[kind] * len(own), broken


def test_every_kind_of_text_is_read(sentences: list[Sentence]) -> None:
    counts = defaultdict[str, int](int)
    for sentence in sentences:
        counts[sentence.kind] += 1
    assert {*counts} == {*MOST}
    assert min(counts.values()) > 20


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("Of the graphs three are not compiled at all.", "opens with Of"),
        ("Chosen were the first rank and the last one.", "opens with its predicate"),
        ("What the kernels wait for is modelled by their links.", "opens with a What clause"),
        ("This argument is no function of the package.", "is no"),
        ("The log tells which kernels were compiled by it.", "told"),
        ("The table stands above the figures of the kernels.", "stands, lies"),
        ("It is not compiled any more after that call.", "no more"),
        ("It is compiled for each size anew, which takes time.", "archaic"),
        ("Read a log of tritonparse with the second function.", "tool after of"),
        ("One: two; and then a third part of it.", "two semicolons or colons"),
        ("Each product of the layer takes a microsecond.", "product: matmul (GEMM)"),
    ],
)
def test_a_rule_finds_what_it_is_for(text: str, hit: str) -> None:
    assert [*list_hits(Sentence("guide", "page.md", text))] == [hit]


def test_code_tables_and_short_parts_are_no_sentences() -> None:
    page = """# A heading that nobody checks

    code = that + is + no + sentence + here

One sentence that has six words. Short one.

| name | a cell that has as many as seven words |
"""
    texts = [sentence.text for sentence in read_markdown("guide", "page.md", page)]
    assert texts == ["One sentence that has six words.", "a cell that has as many as seven words"]


def test_the_command_answers_with_the_term_of_the_field(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["words", "in the middle"]) == 0
    assert capsys.readouterr().out == "in the middle: see median.\n"
