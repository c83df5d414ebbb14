"""The magics with their options, from their parsers."""

from __future__ import annotations

import inspect
import textwrap
from argparse import Action
from collections.abc import Iterator
from typing import Any

from docs.generate.pages import Page
from workbench.notebook.magics import list_own_magics

_HEAD = """# Magics

After `%load_ext workbench`. Each is a parser and one call into the [Python API](index.md);
`%aot_compile?` prints the same help, and Tab completes options, modes, backends, targets and names.
"""


def pages() -> list[Page]:
    """One page, a section for each magic."""
    names = {name: kind for kind in list_own_magics() for name in list_names(kind)}
    sections = "\n\n".join("\n".join(_section(kind, name)) for name, kind in names.items())
    return [Page("reference/magics.md", "Magics", f"{_HEAD}\n{sections}\n")]


def list_names(kind: Any) -> list[str]:
    """The names of the magics of a class, each once."""
    return [name for name in vars(kind) if any(name in table for table in kind.magics.values())]


def _section(kind: Any, name: str) -> Iterator[str]:
    magic, kinds = getattr(kind, name), kind.magics
    parser = magic.parser
    signs = [sign for which, sign in (("line", "%"), ("cell", "%%")) if name in kinds[which]]
    yield f"## {' and '.join(f'`{sign}{name}`' for sign in signs)} {{ #{name} }}"
    yield ""
    yield _described(parser.description or "")
    yield ""
    yield "| option | what it does |"
    yield "| --- | --- |"
    choices = {option.names[0]: option.choices for option in magic.options}
    for action in parser._actions:
        yield _row(action, choices.get((action.option_strings or ("",))[0], ()))


def _described(text: str) -> str:
    """A description in which the indented examples are a listing."""
    parts = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        f"```ipython3\n{textwrap.dedent(part)}\n```" if part.startswith("    ") else part
        for part in parts
    )


def _row(action: Action, choices: tuple[str, ...]) -> str:
    value = f" {action.metavar}" if action.metavar else ""
    names = ", ".join(f"`{name}{value}`" for name in action.option_strings or (action.dest,))
    text = (action.help or "").replace("%%", "%").replace("|", "\\|")
    listed = ", ".join(f"`{choice}`" for choice in choices if choice not in text)
    return f"| {names} | {text}{f'. Tab offers {listed}' if listed else ''} |"
