from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

import workbench
import workbench.number_text as module
from workbench.number_text import (
    Quantity,
    count_text,
    format_bytes,
    format_percent,
    format_seconds,
    join_words,
    number_text,
    plural,
)

CASES = json.loads(Path(__file__).with_name("number_cases.json").read_text(encoding="utf-8"))
"""The front end's tests read the same cases."""


@pytest.mark.parametrize(("quantity", "value", "text"), CASES)
def test_numbers_are_written_by_the_table(
    quantity: Quantity, value: float | None, text: str
) -> None:
    assert number_text(value, quantity) == text


def test_every_quantity_of_the_table_has_cases() -> None:
    rules = json.loads(Path(module.__file__).with_name("number_rules.json").read_text("utf-8"))
    assert {quantity for quantity, _, _ in CASES} == set(rules["quantities"])


def test_what_is_no_number_is_absent_or_endless() -> None:
    assert number_text(math.nan, "seconds") == "–"
    assert number_text(math.inf, "bytes") == "∞"
    assert number_text(-math.inf, "difference") == "−∞"


def test_words_are_listed_as_in_a_sentence() -> None:
    assert list(map(join_words, ([], ["a"], ["a", "b"], ["a", "b", "c"]))) == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_one_is_not_many() -> None:
    assert [plural(1, "graph"), plural(2, "graph")] == ["1 graph", "2 graphs"]
    assert plural(12_000, "entry", "entries") == "12,000 entries"


ALWAYS_SEVERAL = 10


def test_a_count_and_its_noun_are_written_by_plural() -> None:
    """`1 functions`, `1 names`: a count in a sentence beside a noun that is always many.

    The others are behind a comparison with one, or count what is fixed; the number only goes down.
    """
    counted = re.compile(r"\{len\([^{}]*\)\} (?:other )?[a-z]+s\b")
    package = Path(workbench.__file__).parent
    texts = (path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    assert sum(len(counted.findall(text)) for text in texts) <= ALWAYS_SEVERAL


def test_a_quantity_has_its_unit() -> None:
    assert format_bytes(33.6e6) == "33.6 MB"
    assert format_seconds(125) == "2 min 5 s"
    assert count_text(1_073_741_824) == "1.07 G"


def test_a_share_needs_a_whole() -> None:
    assert format_percent(1, 0) == "–"
    assert format_percent(-3, 4) == "−75 %"
    assert format_percent(0.25) == "25 %"
