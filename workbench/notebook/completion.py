"""Tab in the magics: options, modes, backends, targets, guard policies, names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.interactiveshell import InteractiveShell

from workbench.compiler.request.compile_request import list_known_gpus
from workbench.notebook.options import AXES, OF_MAGICS, Option
from workbench.report import Report

_LINE = re.compile(r"\s*%{1,2}(aot_\w+)\s(.*)", re.DOTALL)
_TAKE_CALLS = ("aot_compile", "aot_kernel", "aot_explain", "aot_sweep", "aot_fits")


def suggestions(text: str, names: Mapping[str, Any]) -> list[str] | None:
    """What can follow `text`, the line up to the cursor; None when it is not for us to say."""
    match = _LINE.fullmatch(text)
    if match is None or match[1] not in OF_MAGICS:
        return None
    known = OF_MAGICS[match[1]]
    words = match[2].split(" ")
    word, before = words[-1], [w for w in words[:-1] if w]
    last = before[-1] if before else ""
    taking = next((o for o in known if last in o.names and o.metavar is not None), None)
    if taking is not None:
        return _values(taking, word, names)
    if word.startswith("-"):
        return [name for option in known for name in option.names if name.startswith(word)]
    if match[1] in _TAKE_CALLS and word.isidentifier() | (not word) and _is_start(before, known):
        return [name for name in _callables(names) if name.startswith(word)]
    if match[1] == "aot_diff" and word.isidentifier() | (not word):
        matching = [name for name in _compilations(names) if name.startswith(word)]
        return matching or None  # paths are for IPython to complete
    return None


def _values(option: Option, word: str, names: Mapping[str, Any]) -> list[str] | None:
    if option.metavar == "PATH":
        return None
    values = [choice for choice in option.choices if choice.startswith(word)]
    if "--over" in option.names and "=" not in word:
        return [f"{axis}=" for axis in AXES if axis.startswith(word)]
    if "--target" in option.names:
        values += [gpu.name for gpu in list_known_gpus() if gpu.name.startswith(word)]
    if "--backend" in option.names:
        values += [name for name in _callables(names) if name.startswith(word)]
    return values


def _is_start(before: Sequence[str], known: Sequence[Option]) -> bool:
    """Whether only options came before, so that a name begins the call."""
    rest = list(before)
    while rest:
        option = next((o for o in known if rest[0] in o.names), None)
        if option is None:
            return False
        del rest[: 1 if option.metavar is None else 2]
    return True


def _callables(names: Mapping[str, Any]) -> Iterator[str]:
    for name, value in sorted(names.items()):
        if callable(value) and not name.startswith("_") and not isinstance(value, type):
            yield name


def _compilations(names: Mapping[str, Any]) -> Iterator[str]:
    """Names of what has a report, or is one."""
    for name, value in sorted(names.items()):
        report = value if isinstance(value, Report) else getattr(value, "report", None)
        is_ours = isinstance(report, Report) or callable(report)
        if is_ours and not name.startswith("_") and not isinstance(value, type | ModuleType):
            yield name


def matcher(shell: InteractiveShell) -> Any:
    """The matcher that IPython asks; it keeps other completions out of our options."""

    @context_matcher(identifier="workbench")
    def complete(context: CompletionContext) -> SimpleMatcherResult:
        text = context.full_text.split("\n")[context.cursor_line][: context.cursor_position]
        words = suggestions(text, shell.user_ns)
        if words is None:
            return SimpleMatcherResult(completions=[])
        word = re.split(r"\s", text)[-1]
        skipped = len(word) - len(context.token) if word.endswith(context.token) else 0
        made = [SimpleCompletion(text=text[skipped:], type="magic option") for text in words]
        return SimpleMatcherResult(completions=made, suppress=True)

    return complete
