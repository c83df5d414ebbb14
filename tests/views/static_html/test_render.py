from __future__ import annotations

import pytest

from workbench.views.static_html.render import LONGEST, pieces, split_line_pieces

SOURCE = "\n\ndef f(x):\n    '''a\n  b'''\n    return x + 1.5  # hi\n\n"


@pytest.mark.parametrize("language", ["python", "cpp", "text"])
@pytest.mark.parametrize("text", ["", "\n", SOURCE, "a\r\nb\tc\rd", "x" * 5000])
def test_pieces_give_back_the_text(text: str, language: str) -> None:
    assert "".join(piece for _, piece in pieces(text, language)) == text.replace("\r", "")


def test_lines_keep_the_class_of_a_text_over_several_lines() -> None:
    lines = split_line_pieces(SOURCE, "python")
    assert len(lines) == SOURCE.count("\n") + 1
    assert lines[4][0][0] == "s"


def test_a_very_long_text_is_left_plain() -> None:
    assert next(pieces("x = 1\n" * (LONGEST + 2), "python"))[0] is None
