"""Every message that the workbench has of its own, by class: errors, marks, reasons, advice."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from docs.generate.pages import Page
from workbench import errors
from workbench.analysis.breaks import rewrites
from workbench.analysis.fusion import why_not
from workbench.analysis.opportunities.opportunity import SURE
from workbench.analysis.opportunities.rules import RULES
from workbench.views.source_marks import SIGNS, WORDS
from workbench.views.words import record_words

_MARKS = {
    "captured": "What it computes is in a graph; the kernels that compute it are next to it.",
    "break": "The graph breaks here: the note says why and what to do.",
    "fallback": "Inductor has no lowering for an operator of this line: eager runs it.",
    "later": "Captured in a graph that begins after a graph break.",
    "folded": "Folded to a constant at compile time; nothing is left to run.",
    "removed": "In the captured graph, but not in the final one: merged or dropped.",
    "traced": "Python that ran while Dynamo traced; it left no operation in the graph.",
    "failed": "The program itself fails here, in eager too.",
    "faulty": "A check found an error in a kernel of this line: the note says which.",
    "unreached": "The compiled call did not reach this line.",
    "plain": "The report says nothing of this line.",
}
_HEAD = """# Messages

What the workbench says in words of its own. Torch's words, such as the text of a graph break, are
shown as torch gives them, with the number (`GB0170`) under which torch describes them.
"""


def pages() -> list[Page]:
    """One page, a section for each class of messages."""
    sections = (_errors(), _marks(), _apart(), _graphs(), _rewrites(), _advice(), _sure())
    return [
        Page("reference/messages.md", "Messages", "\n".join((_HEAD, *map("\n".join, sections))))
    ]


def _table(
    title: str, anchor: str, about: str, head: str, rows: Mapping[str, str]
) -> Iterator[str]:
    yield from (
        f"## {title} {{ #{anchor} }}",
        "",
        about,
        "",
        f"| {head} | meaning |",
        "| --- | --- |",
    )
    yield from (f"| {name} | {' '.join(text.split())} |" for name, text in rows.items())
    yield ""


def _errors() -> Iterator[str]:
    about = (
        "Each message says the plain cause first, then what to do. `error.report` is the record of "
        "a failed compilation, or None."
    )
    found = [getattr(errors, name) for name in errors.__all__]
    rows = {f"`wb.{e.__name__}` ({e.__base__.__name__})": _first(e) for e in found}
    return _table("Errors", "errors", about, "class", rows)


def _marks() -> Iterator[str]:
    rows = {f"{SIGNS[state]} {word}".strip(): _MARKS[state] for state, word in WORDS.items()}
    return _table("Marks of a line", "marks", "Beside each line of a source.", "mark", rows)


def _apart() -> Iterator[str]:
    about = (
        'The short reasons of `report.frame("not_fused")`, beside torch\'s own; its column `help` '
        "says what may change it, where that is known."
    )
    rows = {short: f"*{torch}*" for torch, short in why_not.SHORT.items()}
    return _table("Why two operations stayed apart", "not-fused", about, "reason", rows)


def _graphs() -> Iterator[str]:
    about = (
        "What to do about a part that no CUDA graph is recorded of, by a piece of torch's reason."
    )
    return _table("CUDA graphs", "cuda-graphs", about, "torch says", dict(record_words._REMEDIES))


def _rewrites() -> Iterator[str]:
    about = "The rewrites that *See the rewrite* offers at a graph break."
    rules = (value for name, value in vars(rewrites).items() if name.endswith("_change"))
    rows = {f"`{rule.__name__}`": _first(rule) for rule in rules if inspect.isfunction(rule)}
    return _table("Cures of graph breaks", "rewrites", about, "rule", rows)


def _advice() -> Iterator[str]:
    about = (
        'The rules behind *What to do next*, `report.frame("opportunities")` and '
        "`wb.opportunities(compiled)`: each speaks only where it applies."
    )
    rows = {f"`{name}` ({kind})": _first(rule) for rule in RULES for name, kind in _ids(rule)}
    return _table("What to do next", "advice", about, "rule (kind)", rows)


def _sure() -> Iterator[str]:
    return _table("How sure advice is", "sure", "The column `sure`.", "word", SURE)


def _ids(rule: Callable[..., Any]) -> list[tuple[str, str]]:
    """The names and the kinds of the advice that a rule gives, as its code has them."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(rule)))
    found = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        given = {key.arg: key.value for key in call.keywords}
        if "kind" in given:
            name = _words(given["rule"]) if "rule" in given else rule.__name__.replace("_", "-")
            found.append((name, _words(given["kind"])))
    return list(dict.fromkeys(found))


def _words(value: ast.expr) -> str:
    """The texts that an expression may be."""
    parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    return " or ".join(str(ast.literal_eval(part)) for part in parts)


def _first(described: object) -> str:
    return " ".join((inspect.getdoc(described) or "").partition("\n\n")[0].split())
