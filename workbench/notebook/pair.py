"""The two things that `%aot_diff` compares: names, expressions or paths."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from workbench.errors import UsageError
from workbench.notebook.call import evaluate

_WORD = re.compile(r""""[^"]*"|'[^']*'|\S+""")
_FILE = re.compile(r".*\.(wbr|aot|pt2)$", re.IGNORECASE)


@dataclass(frozen=True)
class Side:
    """One of the two: its value (a path as text), and what it is called."""

    name: str
    value: Any


def pair(shell: InteractiveShell, text: str) -> tuple[Side, Side]:
    """Read two words, each a path or an expression; raises `UsageError` when there are not two."""
    words = _split(text)
    if len(words) != 2:
        raise UsageError(
            f"Write two names or paths, such as %aot_diff static dynamic; found {len(words)}."
        )
    a, b = (_side(shell, word) for word in words)
    return a, b


def _split(text: str) -> list[str]:
    """The words; an expression with blanks in it stays whole where that gives two."""
    words: list[str] = _WORD.findall(text)
    if len(words) <= 2:
        return words
    for n in range(1, len(words)):
        halves = [" ".join(words[:n]), " ".join(words[n:])]
        if all(_is_expression(half) for half in halves):
            return halves
    return words


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return bool(_FILE.fullmatch(text.strip("'\"")))
    return True


def _side(shell: InteractiveShell, word: str) -> Side:
    path = word.strip("'\"")
    if (
        path != word
        or _FILE.fullmatch(path)
        or (word not in shell.user_ns and Path(path).is_file())
    ):
        return Side(Path(path).name, str(Path(path).expanduser()))
    try:
        return Side(word, evaluate(shell, word))
    except NameError as error:
        raise UsageError(
            f"There is no {error.name} here, and no file {path}. Write two names or paths."
        ) from error
