"""The command `workbench` and its words; each command is imported when it runs."""

from __future__ import annotations

import argparse
import difflib
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.command_line import PLAIN, WITH_JSON, WRONG_USE
from workbench.installation import explain_overwritten
from workbench.worlds.world import list_commands

_FILE = (
    "a report (.wbr, .wbs), artifact (.aot, .pt2), TORCH_TRACE log or folder, tritonparse log "
    "(.ndjson, .ndjson.gz) or torch.profiler trace (.json, .json.gz)"
)
_EXIT = (
    "Exit code: 0 no findings, 1 a finding (see each command), 2 wrong usage, a bad file or a "
    "failing program."
)


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    if wrong := explain_overwritten():
        print(f"workbench: {wrong}", file=sys.stderr)
        return WRONG_USE
    chosen = build_command_parser().parse_args(words)
    from workbench.command_line import commands
    from workbench.errors import UsageError, WorkbenchError

    read = getattr(chosen, "read", None)
    try:
        if read is not None:  # a command of a world
            return commands.show(chosen.command, read(chosen), chosen)
        return int(getattr(commands, chosen.command)(chosen))
    except (WorkbenchError, OSError) as error:
        notes = () if isinstance(error, UsageError | OSError) else error.__notes__
        print(f"workbench {chosen.command}: {error}", *notes, sep="\n", file=sys.stderr)
    except Exception:  # Python's own exit code of an error, 1, would read as a finding
        traceback.print_exc()
    except SystemExit as error:  # of the program that is looked at: what it asks for is no verdict
        print(
            f"workbench {chosen.command}: the program called sys.exit({error.code!r}).",
            file=sys.stderr,
        )
    return WRONG_USE


class _Parser(argparse.ArgumentParser):
    """Names the command or option that was meant by one that does not exist."""

    commands: Mapping[str, Any] = {}  # of the program itself

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        first = next(iter(sys.argv[1:] if args is None else args), "-")
        if self.commands and not first.startswith("-") and first not in self.commands:
            self.error(f"unknown command {first}: {_hint(first, list(self.commands))}")
        parsed, rest = super().parse_known_args(args, namespace)
        for word in rest:
            name = word.partition("=")[0]
            if name.startswith("--"):
                options = [
                    option for option in self._option_string_actions if option.startswith("--")
                ]
                self.error(f"unknown option {name}: {_hint(name, options)}")
        return parsed, rest


def _hint(word: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, names, n=1)
    return f"did you mean {near[0]}?" if near else f"it has {', '.join(names)}."


def build_command_parser() -> argparse.ArgumentParser:
    """What reads the words of the command."""
    parser = _Parser("workbench", description="Inspect what PyTorch compiled.", epilog=_EXIT)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    report = _command(commands, "report", "show a compilation (exit code 1 if it failed)")
    report.add_argument("file", help=_FILE)
    report.add_argument("--html", metavar="PATH", help="also write it as one HTML page")
    diff = _command(commands, "diff", "compare two reports (exit code 1 if they differ)")
    diff.add_argument("a", help=_FILE)
    diff.add_argument("b", help="the other")
    diff.add_argument("--html", metavar="PATH", help="also write it as one HTML page")
    for own in list_commands((*WITH_JSON, *PLAIN)):
        of_world = _command(commands, own.name, own.about)
        own.add_words(of_world)
        of_world.add_argument("--html", metavar="PATH", help="also write it as one HTML page")
        of_world.set_defaults(read=own.read)
    check = _command(
        commands, "check", "check that a file loads on a machine (exit code 1 if not, or unknown)"
    )
    check.add_argument("file", help="an .aot or .pt2 file; nothing in it is run")
    machine = "a file from `python -m workbench.machine > target.json` (default: this machine)"
    check.add_argument("machine", nargs="?", help=machine)
    inspect = _command(commands, "inspect", "look inside a file (exit code 1 if it is damaged)")
    inspect.add_argument("file", help="an .aot or .pt2 file; nothing in it is run")
    explain = _command(commands, "explain", "list a call's graph breaks (exit code 1 if any)")
    explain.add_argument("function", metavar="MODULE:FUNCTION", help="or FILE.py:FUNCTION; it runs")
    inputs_help = 'the arguments as Python, with torch: "torch.randn(4, 8), n=3"'
    explain.add_argument("--inputs", metavar="ARGUMENTS", default="", help=inputs_help)
    about = "explain a column or figure: meaning, unit and source"
    words = commands.add_parser("words", help=about, description=about)
    words.add_argument("word", nargs="?", default="", help="a word, or part of one (default: all)")
    about = "print the JSON Schema of the --json output"
    schema = commands.add_parser("schema", help=about, description=about)
    schema.set_defaults(json=True)
    parser.commands = commands.choices
    return parser


def _command(commands: Any, name: str, help: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help, description=help)
    parser.add_argument("--json", action="store_true", help="print JSON: see `workbench schema`")
    return parser


if __name__ == "__main__":
    sys.exit(main())
