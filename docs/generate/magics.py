"""The magics with their options, from their parsers."""

from __future__ import annotations

import inspect
import textwrap
from argparse import Action
from collections.abc import Iterator

from docs.generate.pages import Page
from workbench.notebook.magics import WorkbenchMagics
from workbench.notebook.options import OF_MAGICS

_HEAD = """# Magics

After `%load_ext workbench`. Each is a parser and one call into the [Python API](index.md);
`%aot_compile?` prints the same help, and Tab completes options, modes, backends, targets and names.
"""


def pages() -> list[Page]:
    """One page, a section for each magic."""
    sections = "\n\n".join("\n".join(_section(name)) for name in OF_MAGICS)
    return [Page("reference/magics.md", "Magics", f"{_HEAD}\n{sections}\n")]


def _section(name: str) -> Iterator[str]:
    parser = getattr(WorkbenchMagics, name).parser
    kinds = WorkbenchMagics.magics
    signs = [sign for kind, sign in (("line", "%"), ("cell", "%%")) if name in kinds[kind]]
    yield f"## {' and '.join(f'`{sign}{name}`' for sign in signs)} {{ #{name} }}"
    yield ""
    yield _described(parser.description or "")
    yield ""
    yield "| option | what it does |"
    yield "| --- | --- |"
    choices = {option.names[0]: option.choices for option in OF_MAGICS[name]}
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
