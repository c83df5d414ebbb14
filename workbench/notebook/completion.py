"""What Tab offers on the line of a magic that says what its line takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.interactiveshell import InteractiveShell

from workbench.cells.option_magics import Option

_LINE = re.compile(r"\s*%{1,2}(\w+)\s(.*)", re.DOTALL)


def list_completions(
    text: str, magics: Mapping[str, Any], names: Mapping[str, Any]
) -> list[str] | None:
    """What can follow `text`, the line up to the cursor; None when it is not for us to say.

    `names` are the user's.
    """
    match = _LINE.fullmatch(text)
    magic: Any = None if match is None else magics.get(match[1])
    if match is None or not hasattr(magic, "options"):
        return None
    known = magic.options
    words = match[2].split(" ")
    word, before = words[-1], [w for w in words[:-1] if w]
    last = before[-1] if before else ""
    taking = next((o for o in known if last in o.names and o.metavar is not None), None)
    if taking is not None:
        return _list_values(taking, word, names)
    if word.startswith("-"):
        return [name for option in known for name in option.names if name.startswith(word)]
    if (word.isidentifier() or not word) and _count_operands(before, known) < magic.operand.count:
        matching = [name for name in magic.operand.list_names(names) if name.startswith(word)]
        return matching or None  # paths are for IPython to complete
    return None


def _list_values(option: Option, word: str, names: Mapping[str, Any]) -> list[str] | None:
    if option.metavar == "PATH":
        return None
    values = (*option.choices, *option.list_more(names))
    return [value for value in values if value.startswith(word)]


def _count_operands(before: Sequence[str], known: Sequence[Option]) -> int:
    """How many words are neither an option nor its value."""
    count, rest = 0, list(before)
    while rest:
        option = next((o for o in known if rest[0] in o.names), None)
        count += option is None
        del rest[: 1 if option is None or option.metavar is None else 2]
    return count


def build_matcher(shell: InteractiveShell) -> Any:
    """The matcher that IPython asks; it keeps other completions out of our options."""

    @context_matcher(identifier="workbench")
    def complete(context: CompletionContext) -> SimpleMatcherResult:
        text = context.full_text.split("\n")[context.cursor_line][: context.cursor_position]
        kinds = shell.magics_manager.magics
        words = list_completions(text, {**kinds["cell"], **kinds["line"]}, shell.user_ns)
        if words is None:
            return SimpleMatcherResult(completions=[])
        word = re.split(r"\s", text)[-1]
        skipped = len(word) - len(context.token) if word.endswith(context.token) else 0
        offered = [SimpleCompletion(text=text[skipped:], type="magic option") for text in words]
        return SimpleMatcherResult(completions=offered, suppress=True)

    return complete
