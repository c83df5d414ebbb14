"""The command `workbench`: its words from their parser, and what it prints as JSON."""

from __future__ import annotations

import json
from argparse import Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterator

from docs.generate.pages import Page
from workbench.command_line.commands import SCHEMA
from workbench.command_line.main import build_command_parser

_HEAD = """# Command line

Without a notebook: in a shell and in CI. Nothing from a file is executed; `explain` runs the
function that it is given. With `--json` every number has a unit and a source.
"""


def pages() -> list[Page]:
    """One page: a section for each command, then the schema."""
    parser = build_command_parser()
    sections = "\n\n".join("\n".join(_section(*one)) for one in commands(parser).items())
    schema = json.dumps(SCHEMA, indent=2)
    text = f"{_HEAD}\n{parser.epilog}\n\n{sections}\n\n## JSON\n\n```json\n{schema}\n```\n"
    return [Page("reference/commands.md", "Command line", text)]


def commands(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """The commands by name."""
    (found,) = (one for one in parser._actions if isinstance(one, _SubParsersAction))
    return dict(found.choices)


def _section(name: str, parser: ArgumentParser) -> Iterator[str]:
    yield f"## `workbench {name}` {{ #{name} }}"
    yield ""
    description = parser.description or ""
    yield f"{description[:1].upper()}{description[1:]}."
    rows = [_row(action) for action in parser._actions if action.dest != "help"]
    if rows:
        yield from ("", "| argument | what it is |", "| --- | --- |", *rows)


def _row(action: Action) -> str:
    value = f" {action.metavar}" if action.metavar else ""
    names = ", ".join(f"`{name}{value}`" for name in action.option_strings)
    text = (action.help or "").replace("|", "\\|")
    return f"| {names or f'`{action.metavar or action.dest}`'} | {text} |"
