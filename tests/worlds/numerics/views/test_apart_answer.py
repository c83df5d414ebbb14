"""Where two programs part, as a page and as what a notebook keeps."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

import workbench as wb
from workbench.worlds.numerics.findings.numerics_record import ProgramsApart
from workbench.worlds.numerics.rows import CommonValue

WHERE = ("a.py", 3, "k0", "cpp_fused_add", "k1", "extern_kernels.mm", "float32", 8)
EQUAL = CommonValue("sin", *WHERE, differ=0.0, max_ulp=0)
LATE = CommonValue("relu", *WHERE, differ=0.5, max_ulp=9, inherited=True)
FIRST = CommonValue("mul", *WHERE, differ=0.25, max_ulp=2, reason="rounding <of> a product")
FOUND = ProgramsApart("trainer", "server", (EQUAL, LATE, FIRST), (replace(LATE, node="output[0]"),))


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


@pytest.mark.parametrize("made", [FOUND.to_html(), FOUND._repr_html_()], ids=["page", "notebook"])
def test_the_first_place_is_on_top_with_line_kernels_and_why(made: str) -> None:
    text = words(made)
    assert words(FOUND.sentence.replace("<", "&lt;")) in text
    first, late = text.index("25"), text.rindex("50 %")
    assert text.index("mul a.py:3 k0 cpp_fused_add k1 extern_kernels.mm") < late
    assert first < late
    assert "First: rounding <of> a product" in text
    assert "Inherited: an input of this value already differs." in text
    assert "Bitwise equal in both programs: 1 value, outputs included." in text
    assert "sin a.py" not in text


def test_it_is_written_as_a_page_and_is_the_value_of_a_cell(tmp_path) -> None:
    path = tmp_path / "apart.html"
    FOUND.to_html(path)
    assert "<h1>trainer and server: where they differ</h1>" in path.read_text()
    assert wb.show(FOUND) is FOUND
    assert set(FOUND._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_what_agrees_has_no_rows() -> None:
    same = replace(FOUND, values=(EQUAL,), outputs=())
    assert "are bitwise equal in 1 value" in words(same.to_html())
    assert "<table" not in same.to_html()
