"""The last resorts for a graph break: the statement moved to the start, the break made explicit."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace

import pytest

from workbench.analysis.rehearsal.candidates import explicit_change, last_candidates
from workbench.report import Break, Report, Source, Table

FIRST = 11  # where the function stands in its file


def moved(text: str, line: int) -> tuple[str, ...] | None:
    """The lines after the statement of a line was moved."""
    source = Source("s", "f", "f.py", FIRST, "text")
    report = Report()
    report = replace(
        report,
        texts={"text": textwrap.dedent(text)},
        tables={"sources": Table.of(Source, [source])},
    )
    item = Break("b", "f.py", FIRST + line, "f", "", "kind", None, "", "")
    found = [each for each in last_candidates(report, item) if each.kind == "move"]
    return found[0].rewrite.after if found and found[0].rewrite else None


def test_a_statement_that_reads_nothing_made_there_moves_with_its_comment() -> None:
    text = '''\
        def f(x):
            """Sine."""
            y = x.sin()
            t = now(2)  # seconds
            return y * t
        '''
    assert moved(text, 3) == ("    t = now(2)  # seconds", "    y = x.sin()")


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    y = x.sin()\n    t = now(y)\n    return y * t\n",
        "def f(x, t):\n    y = x * t\n    t = now()\n    return y * t\n",
        "def f(x):\n    if x is None:\n        return 0\n    t = now()\n    return x * t\n",
        "def f(x):\n    y = 1\n    return now()\n",
    ],
    ids=["reads", "used before", "after a return", "returns"],
)
def test_one_that_cannot_move_stays(text: str) -> None:
    line = next(n for n, words in enumerate(text.split("\n")) if "now(" in words)
    assert moved(text, line) is None


def test_a_call_is_wrapped_once() -> None:
    def wrapped(code: str) -> tuple[str, ...] | None:
        tree = ast.parse(code)
        change = explicit_change(tree.body[0], [], tree)
        return None if change is None else change.code

    assert wrapped("t = time.time()") == ("t = torch.compiler.disable(time.time)()",)
    assert wrapped("t = torch.compiler.disable(f)(x)") is None
    assert wrapped("t = a + b") is None
