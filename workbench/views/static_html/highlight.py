"""Source text as highlighted pieces, five classes in all, so that big texts stay small."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String

LONGEST = 1500  # lines; Pygments needs 0.2 s for 1,000 lines and makes the page six times as big

_CLASSES: tuple[tuple[Any, str], ...] = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
    (Name.Builtin.Pseudo, "k"),
)


def pieces(text: str, language: str) -> Iterator[tuple[str | None, str]]:
    """The text in pieces with their class: k, n, s, c, f or None; together they are the text."""
    text = text.replace("\r", "")  # Pygments would make lines of them
    if language == "text" or text.count("\n") > LONGEST:
        yield None, text
        return
    last: str | None = None
    held = ""
    for token, value in _lexer(language).get_tokens(text):
        name = _class_of(token) if value.strip() else last
        if name == last:
            held += value
            continue
        if held:
            yield last, held
        last, held = name, value
    yield last, held


def line_pieces(text: str, language: str) -> list[list[tuple[str | None, str]]]:
    """The pieces of each line."""
    lines: list[list[tuple[str | None, str]]] = [[]]
    for name, value in pieces(text, language):
        first, *rest = value.split("\n")
        lines[-1].append((name, first))
        for part in rest:
            lines.append([(name, part)])
    return lines


@cache
def _lexer(language: str) -> Lexer:
    # ensurenl, stripnl: the pieces must give back exactly the text
    return get_lexer_by_name(language, ensurenl=False, stripnl=False)


@cache
def _class_of(token: Any) -> str | None:  # a token type: contains its subtypes
    return next((name for kind, name in _CLASSES if token in kind), None)
