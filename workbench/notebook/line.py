"""Splits a magic's line into its options and the call, which stays as it was written."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.notebook.options import Option

_WORD = re.compile(r"""\s*("[^"]*"|'[^']*'|\S+)""")
_LATER = re.compile(r"\s(?=-{1,2}[A-Za-z])")


@dataclass(frozen=True)
class Line:
    """Words for the option parser, and what follows or precedes them."""

    words: tuple[str, ...]
    rest: str


def split(text: str, options: Sequence[Option]) -> Line:
    """Take the options from the front of the line, then those after the call."""
    words, start = _leading(text, options)
    rest = text[start:].strip()
    if rest and not _is_call(rest):
        rest, later = _trailing(rest, options)
        words += later
    return Line(tuple(words), rest)


def _leading(text: str, options: Sequence[Option]) -> tuple[list[str], int]:
    """The options at the start of the text, and where they end."""
    with_value = {name for option in options if option.metavar for name in option.names}
    known = {name for option in options for name in option.names}
    words: list[str] = []
    position = 0
    while match := _WORD.match(text, position):
        word = match[1]
        if not word.startswith("-") or word == "-":
            break
        name = word.partition("=")[0] if word.startswith("--") else word
        if name not in known:
            if not _looks_like_option(word):
                break
            raise UsageError(_unknown(name, options))
        words.append(word)
        position = match.end()
        if name in with_value and "=" not in word.removeprefix(name):
            value = _WORD.match(text, position)
            if value is None:
                option = next(option for option in options if name in option.names)
                raise UsageError(f"{name} needs a value: {name} {option.metavar}.")
            words.append(_unquoted(value[1]))
            position = value.end()
    return words, position


def _trailing(text: str, options: Sequence[Option]) -> tuple[str, list[str]]:
    """Options after a call: `f(x) -o name`."""
    known = {name for option in options for name in option.names}
    for match in _LATER.finditer(text):
        before, after = text[: match.start()].strip(), text[match.end() :]
        first = after.split()[0].partition("=")[0]
        is_whole = before.count("(") == before.count(")")
        if first in known and (_is_call(before) or is_whole):
            words, end = _leading(after, options)
            if not after[end:].strip():
                return before, words
    return text, []


def _is_call(text: str) -> bool:
    try:
        return isinstance(ast.parse(text, mode="eval").body, ast.Call)
    except SyntaxError:
        return False


def _looks_like_option(word: str) -> bool:
    return bool(re.fullmatch(r"--[A-Za-z][\w-]*(=.*)?|-[A-Za-z]\w*", word))


def _unknown(name: str, options: Sequence[Option]) -> str:
    names = ", ".join(option.names[0] for option in options)
    return f"There is no option {name}. The options are {names}."


def _unquoted(word: str) -> str:
    is_quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "'\""
    return word[1:-1] if is_quoted else word
